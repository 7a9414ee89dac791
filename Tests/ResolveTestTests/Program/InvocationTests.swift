// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ServerRig
import Testing

@testable import resolve_test

/// Whole runs of the built program without servers: what it prints where, and how it ends.
struct InvocationTests {
    struct Run: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var status: Int32
        var output = ""
        var error = ""
        var testDescription: String { "resolve-test " + arguments.joined(separator: " ") }
    }

    /// The runs of a text: `$ ARGUMENTS`, then the output, or `[STATUS] ERROR`.
    private static func runs(_ text: String) -> [Run] {
        var runs: [Run] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.first == "$" {
                runs.append(Run(arguments: line.dropFirst().split(separator: " ").map(String.init), status: 0))
            } else if line.first == "[", let end = line.firstIndex(of: "]") {
                runs[runs.count - 1].status = Int32(line[..<end].dropFirst()) ?? -1
                runs[runs.count - 1].error = String(line[end...].dropFirst(2))
            } else {
                runs[runs.count - 1].output += line + "\n"
            }
        }
        return runs
    }

    static let good = runs(
        """
        $ resolve One.Test. 127.0.0.1 localhost:81 --map one.test=127.0.0.2,::1 --family v4
        One.Test.      127.0.0.2   mapping  --map   no expiry
        127.0.0.1      127.0.0.1   literal          no expiry
        localhost:81   127.0.0.1   literal          no expiry
        $ resolve --json one.test:8443 --map one.test:8443=127.0.0.2:9443 --map one.test=127.0.0.3
        {"addresses":["127.0.0.2:9443"],"ageSeconds":0,"cached":false,"canonicalName":null,"extendedErrors":[],\
        "failedProviders":[],"generation":1,"host":"one.test","location":"--map","port":8443,"provider":null,\
        "seconds":N,"source":"mapping","stale":false,"timeToLiveSeconds":null}
        $ one.test 127.0.0.1 --map one.test=127.0.0.2,::1 A +short
        127.0.0.2
        127.0.0.1
        $ --map one.test=127.0.0.2,::1 -t aaaa one.test localhost.
        one.test     ::1   mapping  --map   no expiry
        localhost.   ::1   literal          no expiry
        $ --map one.test=127.0.0.2 http://one.test/
        original      http://one.test/
        address form  http://127.0.0.2/   Host one.test   clear text: no SNI, no certificate
        why           mapping "one.test" from --map > no provider asked
        candidates    127.0.0.2   policy: allowed (mapping)
        lifetime      age 0 s, no expiry, generation 1, tag set
        curl          curl -g --path-as-is --resolve one.test:80:127.0.0.2 'http://one.test/'
        $ explain HTTPS://One.Test:443/%7Ea/../b --map one.test=127.0.0.2
        original      HTTPS://One.Test:443/%7Ea/../b
        address form  https://127.0.0.2/%7Ea/../b   Host one.test   SNI and certificate one.test
        why           mapping "one.test" from --map > no provider asked
        candidates    127.0.0.2   policy: allowed (mapping)
        lifetime      age 0 s, no expiry, generation 1, tag set
        curl          curl -g --path-as-is --resolve one.test:443:127.0.0.2 'https://one.test/%7Ea/../b'
        $ explain http://[::1]:81/
        original      http://[::1]:81/
        address form  http://[::1]:81/   Host [::1]:81   clear text: no SNI, no certificate
        why           the URL has an address or localhost: no query
        candidates    ::1   policy: allowed (literal)
        lifetime      age 0 s, no expiry, generation 1, no tag: nothing was rewritten
        curl          curl -g --path-as-is 'http://[::1]:81/'
        $ export --map b.test=127.0.0.2,::1 --map a.test:81=127.0.0.3
        # a.test:81: 127.0.0.3 (a hosts file has no ports)
        127.0.0.2  b.test
        ::1        b.test
        $ export --format curl --map a.test:81=127.0.0.3,::1
        --resolve a.test:81:127.0.0.3,[::1]
        """
    )

    static let bad = runs(
        """
        $
        [2] no command is given; commands are resolve, explain, fetch, bench, compare, watch, check, export, dump, \
        monitor, switch, serve, agent and run (see resolve-test --help)
        $ fecth https://one.test/
        [2] there is no command "fecth"; did you mean "fetch"? (resolve-test resolve fecth resolves the name; see \
        resolve-test --help)
        $ --nope one.test
        [2] Unknown option '--nope'; options follow the command: resolve-test COMMAND --nope (see resolve-test --help)
        $ -k one.test
        [2] Unknown option '-k', which fetch has (did you mean resolve-test fetch ...?)
        $ -sSLh http://one.test/
        [2] Unknown option '-s', which fetch has (did you mean resolve-test fetch ...?)
        $ http://one.test/ -HAccept:text/html
        [2] Unknown option '-H', which fetch has (did you mean resolve-test fetch ...?)
        $ fetch -sSLh http://one.test/
        [2] -h is combined with other letters (--help, in an argument of its own, prints help)
        $ explain http://one.test/ --nope=x
        [2] Unknown option '--nope'. Did you mean '--map'? (see resolve-test explain --help)
        $ one.test @a:b@1.1.1.1
        [2] @SERVER has user information (write it without a user and a password)
        $ resolve
        [2] no host is given (resolve-test resolve HOST...; a word such as A is a record type, and a host of that \
        name is written "a.")
        $ -x 127.0.0.1
        [2] -x 127.0.0.1 is an option of dig that resolve-test does not have (resolve-test ADDRESS PTR asks for the \
        name of an address; -x is the proxy of fetch)
        $ one.test +trace
        [2] +trace is an option of dig that resolve-test does not have (+short, +tcp, +tls, +https and +time are there; \
        --json prints all that is known; see resolve --help)
        $ A one.test --family v4
        [2] --family and a record type both select addresses (leave --family out: A is IPv4, AAAA is IPv6)
        $ +short one.test --json
        [2] +short and --json are two forms of output (leave one of them out)
        $ 10.0.0.1 PTR --public +short
        [1] cannot get PTR records of 10.0.0.1: no provider that has such records may be asked (@SERVER asks a \
        server, --public asks public services; in a file the kinds doh and dns have records)
        $ 127.0.0.1 TXT @127.0.0.1:1 +short
        [1] cannot get TXT records of 127.0.0.1: an address has no TXT records (give a name)
        $ one.test A @127.0.0.1:1 +tcp +short
        [1] cannot get A records of one.test: 127.0.0.1:1: Connection refused
        $ one.test A @127.0.0.1 --bootstrap ns.test=127.0.0.1
        [2] --bootstrap ns.test: the server has another name
        $ one.test A @ns.test. --bootstrap ns.test=127.0.0.1 +https=/q?{x}
        [2] @ns.test.: the only template that a DoH url may have is {?dns} at its end (RFC 8484 section 4.1)
        $ fetch http://a.test/ --mapp
        [2] Unknown option '--mapp'. Did you mean '--map'? (see resolve-test fetch --help)
        $ explain http://a.test/ --family v5
        [2] The value 'v5' is invalid for '--family <FAMILY>'. Please provide one of 'v4', 'v6' or 'both'. (see \
        resolve-test explain --help)
        $ resolve https://one.test/
        [2] "https://one.test/" is a URL, not a host (resolve-test explain https://one.test/)
        $ one.test/a
        [2] "one.test/a" has a path, and is not a host (resolve-test explain https://one.test/a)
        $ resolve one.test --doh https://doh.test/dns-query
        [2] --doh https://doh.test/dns-query: doh.test has no bootstrap address, and this name is never looked up \
        (add --bootstrap doh.test=ADDRESS, or use a URL with an address)
        $ resolve one.test --bootstrap a.test=127.0.0.1
        [2] --bootstrap a.test: no --doh URL has this host
        $ resolve one.test --allow 10.0.0.1/8
        [2] --allow "10.0.0.1/8" is not an address or a CIDR block (such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32; \
        the bits after the prefix must be zero)
        $ resolve one.test --cacert /nonexistent/ca.pem
        [2] --cacert /nonexistent/ca.pem: No such file or directory (give a PEM file with the certificates of the \
        authorities)
        $ fetch http://one.test/ --json -o -
        [2] --json and -o - both use standard output (write the body to a file with -o FILE)
        $ fetch
        [2] Missing expected argument '<URL>' (see resolve-test fetch --help)
        $ fetch http://one.test/ --tr-encoding
        [2] fetch does not have curl's --tr-encoding (leave it out: the client asks for no transfer coding)
        $ fetch one.test two.test
        [2] fetch takes one URL, and 2 are given (run fetch once for each URL)
        $ fetch one.test -sXfoo=bar -w %{nope}
        [2] -X "foo=bar" is not a method (such as GET, POST or PURGE)
        $ fetch http://one.test/ -o /
        [23] -o / is a directory (give a file in it)
        $ explain img.shop.test:8443/a
        [2] the URL "img.shop.test:8443/a" cannot be requested: the URL does not begin with http:// or https:// \
        (write https://img.shop.test:8443/a; only fetch adds http)
        $ bench ftp://one.test/
        [2] the URL "ftp://one.test/" cannot be requested: the URL does not begin with http:// or https://
        $ check
        [2] Missing expected argument '<FILE>' (see resolve-test check --help)
        $ check a.yaml --config b.yaml
        [2] check FILE and --config FILE mean the same (leave one of them out)
        $ export --public
        [2] Unknown option '--public' (see resolve-test export --help)
        $ export
        [2] there are no mappings to export (give FILE or --map HOST=ADDRESS)
        $ fetch -sS http://one.test:1/ --map one.test=127.0.0.1
        [7] the request to one.test:1 failed: 127.0.0.1:1 connect: Connection refused (N ms) (check that the address \
        serves this port: resolve-test explain shows its source)
        """
    )

    @Test("The output of a successful run goes to standard output alone", arguments: good)
    func succeeds(run: Run) async throws {
        let result = try await Program.run(run.arguments)
        #expect(result.status == run.status)
        #expect(result.output.withoutTimes == run.output)
        #expect(result.error == "")
    }

    @Test("An error is one line on standard error, with advice", arguments: bad)
    func fails(run: Run) async throws {
        let result = try await Program.run(run.arguments)
        #expect(result.status == run.status)
        #expect(result.output == "")
        guard !run.arguments.contains("--json") else { return }
        #expect(result.error.withoutTimes == "resolve-test: \(run.error)\n")
    }

    @Test(
        "With --json every error is one JSON object on standard error",
        arguments: bad.filter { !$0.arguments.isEmpty && !$0.arguments.contains("+short") }
    )
    func failsAsJSON(run: Run) async throws {
        let result = try await Program.run(run.arguments + (run.arguments.contains("--json") ? [] : ["--json"]))
        #expect(result.status == run.status)
        #expect(result.output == "")
        #expect(result.error.hasPrefix("{\"error\":{\""))
        #expect(result.error.split(separator: "\n").count == 1)
        let error: JSONObject? = try JSONObject(result.error)["error"]
        #expect(error?["exitStatus"] == .integer(Int(run.status)))
        #expect(error?.names.isSuperset(of: ["code", "message", "hint", "host", "phase", "reason"]) == true)
    }

    @Test(
        "Output that cannot be written is a failure that says so",
        arguments: [
            "resolve 127.0.0.1", "resolve --json 127.0.0.1", "explain http://[::1]/", "resolve --help", "--help",
        ],
        [">/dev/full", ">&-"]
    )
    func lostOutput(arguments: String, redirection: String) async throws {
        let result = try await Command("/bin/sh", ["-c", "'\(Program.path)' \(arguments) \(redirection)"]).run()
        #expect(result.status == 1)
        #expect(result.error.contains("cannot write the output"))
        #expect(result.error.split(separator: "\n").count == 1)
    }

    @Test("No file or connection takes the descriptor of a closed stream")
    func closedStreams() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\n", to: "httpdns.yaml")
        let line = "'\(Program.path)' resolve 127.0.0.1 --config '\(file)' <&- >&- 2>&-"
        #expect(try await Command("/bin/sh", ["-c", line]).run().status == 1)
        #expect(folder.read("httpdns.yaml") == "version: 1\n")
    }

    @Test(
        "A password in an argument is in no output",
        arguments: [
            "resolve one.test --doh https://user:sesame@1.1.1.1/dns-query",
            "resolve one.test --doh=https://user:sesame@1.1.1.1/dns-query",
            "resolve one.test --doh https://user:sesame@doh.test/dns-query", "resolve https://user:sesame@one.test/",
            "resolve user:sesame@one.test", "resolve one.test @https://user:sesame@1.1.1.1/dns-query",
            "one.test @https://user:sesame@doh.test/dns-query", "https://user:sesame@one.test/",
            "one.test @user:sesame@1.1.1.1", "@HTTPS://user:sesame@1.1.1.1/dns-query one.test",
            "explain user:sesame@one.test",
            "explain https://a.test/ https://user:sesame@one.test/", "explain https://user:sesame@one.test:0/",
            "explain https://user:sesame@one.test/ --map one.test=127.0.0.1 -v",
            "explain https://user:sesame@one.test/ --map one.test=127.0.0.1 --json",
            "fetch https://user:sesame@one.test:1/ --map one.test=127.0.0.1 -v",
            "fetch -u user:sesame http://one.test:1/ --map one.test=127.0.0.1 -v",
            "fetch -uuser:sesame --digest http://one.test:1/ --map one.test=127.0.0.1 -v",
            "fetch --oauth2-bearer sesame http://one.test:1/ --map one.test=127.0.0.1 -v",
            "fetch -x http://user:sesame@127.0.0.1:1 http://one.test/ -v",
            "fetch -x ftp://user:sesame@127.0.0.1:1 http://one.test/",
            "fetch -x 127.0.0.1:1 -U user:sesame http://one.test/ -v", "fetch -U user:sesame http://one.test/",
            "fetch -E /nonexistent:sesame https://one.test:1/ --map one.test=127.0.0.1 -v",
            "fetch -b a=sesame -d password=sesame http://one.test:1/ --map one.test=127.0.0.1 -v",
            "bench https://user:sesame@one.test:1/ --map one.test=127.0.0.1 -v",
            "bench https://user:sesame@one.test:0/",
        ]
    )
    func secrets(line: String) async throws {
        let arguments = line.split(separator: " ").map(String.init)
        for more in [[], ["--json"]] {
            let result = try await Program.run(arguments + more)
            #expect(!(result.output + result.error).contains("sesame"), "\(result.output)\(result.error)")
        }
    }

    @Test(
        "--version of each command prints all versions",
        arguments: ["version", "resolve --version", "fetch http://a.test/ --version"]
    )
    func versionOfCommand(line: String) async throws {
        let arguments = line.split(separator: " ").map(String.init)
        #expect(try await Program.run(arguments).output == Program.run(["--version"]).output)
        #expect(try await Program.run(arguments + ["--json"]).output == Program.run(["--version", "--json"]).output)
    }

    @Test("The completion script for fish has no option that argparse refuses, and ends")
    func fishCompletion() async throws {
        let script = try await Program.run(["--generate-completion-script", "fish"]).output
        let lines = script.split(separator: "\n").filter { $0.contains("__resolve-test_parse_subcommand ") }
        #expect(lines.count == RootCommand.names.count + 3)
        #expect(
            lines.allSatisfy { !$0.contains(".") }
                && lines.contains { $0.contains("'6/ipv6' ") && $0.contains(" '0' ") }
        )
        #expect(script.contains("2> /dev/null; or break") && script.contains("-l 'http1.1'"))
        // Any other text is left alone.
        #expect(
            FishCompletion.corrected("__resolve-test_parse_subcommand 'a.b'") == "__resolve-test_parse_subcommand 'a.b'"
        )
    }

    @Test("Help fits 80 columns and exits with 0", arguments: [""] + RootCommand.names)
    func help(command: String) async throws {
        let result = try await Program.run([command, "--help"].filter { !$0.isEmpty })
        #expect(result.status == 0)
        #expect(result.error == "")
        #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(command == "" || result.output.contains("USAGE: resolve-test \(command)"))
    }

    @Test("The versions are those of the libraries that curl reports", .enabled(if: Command.find("curl") != nil))
    func version() async throws {
        let run = try await Program.run(["--version"])
        #expect(run.status == 0 && run.error == "")
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "resolve-test 0.1.0")
        // Such as `curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 OpenSSL/3.0.19 zlib/1.2.13 ... nghttp2/1.52.0`.
        let curl = try await Command("curl", ["--version"]).run().output.prefix { $0 != "\n" }
        for line in lines.dropFirst() {
            let entry = line.replacing(" ", with: "/")
            #expect(curl.contains(" \(entry) ") || curl.hasSuffix(" \(entry)"), "\(entry)")
        }
        let names = lines.dropFirst().compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(names.starts(with: ["libcurl", "OpenSSL", "nghttp2", "zlib"]))

        let json = try JSONObject(try await Program.run(["--json", "--version"]).output)
        #expect(json.names == ["version", "libcurl", "tls", "http2", "zlib", "resolver"])
        #expect(json["version"] == .text("0.1.0"))
        let tls: JSONObject.Value? = json["tls"]
        #expect("\(tls, default: "none")".contains("OpenSSL/"))
    }

    @Test("Without mappings and providers the system answers, with a hint at --public")
    func nothingSet() async throws {
        let result = try await Program.run(["resolve", "nothing-here.invalid"])
        #expect(result.status == 1)
        #expect(result.output == "nothing-here.invalid   -   name not found\n")
        #expect(result.error.contains("no mapping and no provider is set: --public asks public HTTP-DNS"))
        #expect(result.error.split(separator: "\n").count == 1)
    }

    @Test("Several failed hosts are one error, and the others are still shown")
    func severalHosts() async throws {
        let result = try await Program.run([
            "resolve", "a.invalid", "one.test", "b.invalid", "--map", "one.test=127.0.0.2", "--json",
        ])
        #expect(result.status == 1)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].contains(#""addresses":["127.0.0.2"]"#))
        #expect(result.error.split(separator: "\n").count == 1)
        #expect(result.error.contains("2 of 3 hosts have no address: a.invalid, b.invalid"))
    }

    @Test("A special address is refused even in a mapping, until --allow names its block")
    func policy() async throws {
        let arguments = ["explain", "http://a.test/", "--map", "a.test=169.254.1.1"]
        let refused = try await Program.run(arguments)
        #expect(refused.status == 1)
        #expect(refused.error.contains("169.254.1.1"))
        #expect(refused.error.contains("--allow"))
        #expect(try await Program.run(arguments + ["--allow", "169.254.0.0/16"]).status == 0)
    }
}
#endif
