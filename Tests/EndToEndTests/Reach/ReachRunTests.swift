// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO && CommandLine
import Foundation
import HTTPDNS
import ServerRig
import Testing

@Suite(
    "Commands whose names are resolved here",
    .enabled(if: BindMount.isPossible, "only root may mount"),
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct ReachRunTests {
    /// Returns the result of a command with the names of the rig's provider and these mappings.
    private func run(
        _ rig: ServerRig,
        maps: [String] = [],
        library: Bool = true,
        options more: [String] = [],
        _ command: [String]
    ) async throws -> CommandResult {
        let options = [
            "run", "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert",
            rig.certificateAuthorityFile,
        ]
        var program = Command(
            try BuiltProduct.path("resolve-test"),
            options + more + maps.flatMap { ["--map", $0] } + ["--"] + command
        )
        // curl and git know the authority as the caller's own variables say, as in a shell.
        program.environment = [
            "CURL_CA_BUNDLE": rig.certificateAuthorityFile, "GIT_SSL_CAINFO": rig.certificateAuthorityFile,
            "SSL_CERT_FILE": rig.certificateAuthorityFile,
        ]
        if library { program.environment.merge(NameServiceLibrary.environment) { $1 } }
        return try await program.run()
    }

    /// A program, and its output for a name.
    struct Program: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The command for a host and the port of the origin.
        let command: @Sendable (_ host: String, _ port: UInt16) -> [String]
        /// The text that shows the address.
        var shows: @Sendable (_ address: String) -> String = { $0 }
        /// Whether it is a program that tests need anyway.
        var isRequired = false
    }

    static let programs = [
        Program(
            testDescription: "curl",
            command: { ["curl", "-sS", "--max-time", "20", "https://\($0):\($1)/echo"] },
            shows: { #""address":"\#($0)""# },
            isRequired: true
        ),
        Program(
            testDescription: "python3",
            command: { host, port in
                let request = "urllib.request.urlopen('https://\(host):\(port)/echo', timeout=20)"
                return ["/usr/bin/python3", "-c", "import urllib.request; print(\(request).read().decode())"]
            },
            shows: { #""address":"\#($0)""# }
        ),
        Program(
            testDescription: "git",
            command: { host, port in
                ["sh", "-c", "GIT_CURL_VERBOSE=1 git ls-remote https://\(host):\(port)/none.git 2>&1; [ $? = 128 ]"]
            },
            shows: { "(\($0)) port" }
        ),
        Program(
            testDescription: "psql",
            command: { host, port in
                [
                    "sh", "-c",
                    "psql 'host=\(host) port=\(port) connect_timeout=5 user=u dbname=d' -c '' 2>&1; [ $? = 2 ]",
                ]
            },
            shows: { "(\($0)), port" }
        ),
        Program(
            testDescription: "node",
            command: { host, _ in
                ["node", "-e", "require('dns').lookup('\(host)',(e,a)=>{console.log(a);process.exit(e?6:0)})"]
            }
        ),
        Program(
            testDescription: "java",
            command: { host, _ in
                let source =
                    "public class P{public static void main(String[] a)throws Exception{"
                    + "System.out.println(java.net.InetAddress.getByName(\"\(host)\"));}}"
                return [
                    "sh", "-c", "d=$(mktemp -d); echo '\(source)' > $d/P.java; java $d/P.java; r=$?; rm -r $d; exit $r",
                ]
            }
        ),
    ]

    @Test(
        "A program reaches mappings and names of HTTP-DNS, and fails for others",
        .enabled(if: NameServiceLibrary.isUsable),
        .timeLimit(.minutes(3)),
        arguments: programs
    )
    func reaches(_ program: Program) async throws {
        let name = program.testDescription == "python3" ? "/usr/bin/python3" : program.testDescription
        guard program.isRequired || Command.find(name) != nil else { return }
        let rig = try await ServerRig.shared()
        for (host, address) in [("one.test", "127.0.0.4"), ("img.wild.test", "127.0.0.2"), ("two.test", "127.0.0.3")] {
            let maps = ["one.test=127.0.0.4", "*.wild.test=127.0.0.2"]
            let result = try await run(rig, maps: maps, program.command(host, rig.tlsPort))
            #expect(
                result.status == 0 && result.output.contains(program.shows(address)),
                "\(host): \(result.output) \(result.error)"
            )
        }
        let unknown = try await run(rig, program.command("gone.one.test", rig.tlsPort))
        #expect(unknown.status != 0 || !unknown.output.contains("127.0.0."), "\(unknown.output) \(unknown.error)")
    }

    @Test("A program reaches a name that has an IPv6 address alone", .enabled(if: NameServiceLibrary.isUsable))
    func ipv6() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://img.wild.test:\(rig.tlsPort)/echo"
        let result = try await run(rig, maps: ["*.wild.test=::1"], ["curl", "-sS", url])
        #expect(result.status == 0 && result.output.contains(#""address":"::1""#), "\(result)")
    }

    @Test(
        "A static program of Go follows plain mappings",
        .enabled(if: Command.find("go") != nil),
        .timeLimit(.minutes(2))
    )
    func staticProgram() async throws {
        let folder = try TemporaryFolder()
        let source = """
            package main
            import ("fmt"; "net"; "os")
            func main() { fmt.Println(net.LookupHost(os.Args[1])) }
            """
        try Data(source.utf8).write(to: URL(fileURLWithPath: folder.path + "/main.go"))
        var build = Command("go", ["build", "-o", folder.path + "/look", folder.path + "/main.go"])
        build.environment = ["CGO_ENABLED": "0", "GOCACHE": folder.path + "/cache", "GOFLAGS": "-mod=mod"]
        let built = try await build.run()
        try #require(built.status == 0, "\(built.error)")
        let rig = try await ServerRig.shared()
        let result = try await run(
            rig,
            maps: ["one.test=127.0.0.4"],
            library: false,
            [folder.path + "/look", "one.test"]
        )
        #expect(result.output == "[127.0.0.4] <nil>\n", "\(result)")
    }

    @Test("Without libnss-resolve a program has plain mappings from a hosts file")
    func hostsFile() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://one.test:\(rig.tlsPort)/echo"
        let result = try await run(
            rig,
            maps: ["one.test=127.0.0.4"],
            library: false,
            ["curl", "-sS", "--noproxy", "*", url]
        )
        #expect(result.status == 0 && result.output.contains(#""address":"127.0.0.4""#), "\(result.error)")
        // What static programs read.
        let hosts = try await run(rig, maps: ["one.test=127.0.0.4"], library: false, ["cat", "/etc/hosts"])
        #expect(hosts.output.split(separator: "\n").first == "127.0.0.4 one.test")
        #expect(hosts.output.hasSuffix(try String(contentsOfFile: "/etc/hosts", encoding: .utf8)))
    }

    @Test(
        "The hosts file has what the policy allows, and keeps names that are not decided",
        arguments: [
            ("--map a.test=127.0.0.4", "127.0.0.4 a.test"), ("--map a.test:8443=127.0.0.4", "10.1.1.1 a.test"),
            ("--map a.test=169.254.169.254", ""), ("--map a.test=127.0.0.4:8443", ""),
        ]
    )
    func hostsFileLines(_ options: String, _ expected: String) async throws {
        let folder = try TemporaryFolder()
        try Data("10.1.1.1 a.test\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/hosts"))
        let script = "mount --bind '\(folder.path)/hosts' /etc/hosts && exec \"$0\" \"$@\""
        let program = try BuiltProduct.path("resolve-test")
        let arguments = ["run"] + options.split(separator: " ").map(String.init) + ["--", "cat", "/etc/hosts"]
        let result = try await Command("unshare", ["-m", "sh", "-c", script, program] + arguments).run()
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines == (expected.isEmpty ? [] : [expected]), "\(result)")
    }

    @Test("A route with a fallback to the system resolver is asked", .enabled(if: NameServiceLibrary.isUsable))
    func fallback() async throws {
        let rig = try await ServerRig.shared()
        let options = [
            "run", "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert",
            rig.certificateAuthorityFile, "--system-fallback", "--", "getent", "hosts", "two.test",
        ]
        var program = Command(try BuiltProduct.path("resolve-test"), options)
        program.environment = NameServiceLibrary.environment
        let result = try await program.run()
        #expect(result.output.hasPrefix("127.0.0.3"), "\(result)")
    }

    @Test("Where names need more, curl follows variables for proxies, and a note says so")
    func variables() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://two.test:\(rig.tlsPort)/echo"
        let result = try await run(rig, library: false, ["curl", "-sS", url])
        #expect(result.status == 0 && result.output.contains(#""address":"127.0.0.3""#), "\(result.error)")
        #expect(result.error.hasPrefix("note: libnss-resolve is not installed"), "\(result.error)")
    }

    @Test("A refused namespace is named, and an error only if it is required")
    func refusal() async throws {
        let rig = try await ServerRig.shared()
        let program = try BuiltProduct.path("resolve-test")
        let script = "echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$0\" \"$@\""
        func run(_ options: [String]) async throws -> CommandResult {
            let arguments = ["run", "--map", "*.wild.test=127.0.0.4"] + options
            var command = Command("unshare", ["-Ur", "sh", "-c", script, program] + arguments)
            command.environment = ["CURL_CA_BUNDLE": rig.certificateAuthorityFile]
            return try await command.run()
        }
        let result = try await run(["--", "curl", "-sS", "https://img.wild.test:\(rig.tlsPort)/echo"])
        #expect(result.status == 0 && result.output.contains(#""address":"127.0.0.4""#), "\(result.error)")
        #expect(
            result.error.contains("the machine refuses a namespace (make a mount namespace: No space left on device)"),
            "\(result.error)"
        )
        let strict = try await run(["--require-namespace", "--", "true"])
        #expect(strict.status == 1 && strict.error.contains("the machine refuses a namespace"), "\(strict.error)")
    }

    @Test(
        "A run ends as its command ends",
        arguments: [
            (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 143), (["sh", "-c", "kill -KILL $$"], 137),
            (["/nonexistent"], 127), (["/etc/hosts"], 126), (["true"], 0),
        ] as [([String], Int32)]
    )
    func ends(_ command: [String], _ status: Int32) async throws {
        let program = Command(
            try BuiltProduct.path("resolve-test"),
            ["run", "--map", "a.test=127.0.0.4", "--"] + command
        )
        #expect(try await program.run().status == status)
    }

    @Test(
        "What keeps names from being resolved here is noted",
        arguments: [
            ("version: 1", [:], "note: there is no mapping and no route to providers (see --map, --config)"),
            (
                "version: 1\nenabled: false\nmappings: { a.test: 127.0.0.4 }", [:],
                "note: resolving is switched off (enabled: false)"
            ),
            (
                "version: 1\nmappings: { a.test: 127.0.0.4 }", ["https_proxy": "http://127.0.0.1:9"],
                "note: https_proxy set: programs that follow proxies"
            ),
            ("version: 1\nmappings: { a.test: 127.0.0.4 }", [:], ""),
        ] as [(String, [String: String], String)]
    )
    func notes(_ file: String, _ environment: [String: String], _ note: String) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/httpdns.yaml"
        try Data(file.utf8).write(to: URL(fileURLWithPath: path))
        var program = Command(try BuiltProduct.path("resolve-test"), ["run", "--config", path, "--", "true"])
        program.environment = environment
        let result = try await program.run()
        #expect(note.isEmpty ? result.error.isEmpty : result.error.hasPrefix(note), "\(result)")
    }

    @Test("A mapping to another port is reached by programs that follow the variables", arguments: [true, false])
    func ported(_ library: Bool) async throws {
        guard !library || NameServiceLibrary.isUsable else { return }
        let rig = try await ServerRig.shared()
        let maps = ["one.test=127.0.0.4:\(rig.tlsPort)"]
        let result = try await run(rig, maps: maps, library: library, ["curl", "-sS", "https://one.test/echo"])
        #expect(result.status == 0 && result.output.contains(#""address":"127.0.0.4""#), "\(result)")
        #expect(result.error.hasPrefix("note: lookups have no port: the mapping of one.test"), "\(result.error)")
    }

    @Test("A lookup that fails is logged with -v, on standard error", .enabled(if: NameServiceLibrary.isUsable))
    func tellsFailures() async throws {
        let rig = try await ServerRig.shared()
        let command = ["getent", "ahosts", "gone.one.test"]
        let result = try await run(rig, options: ["-v"], command)
        #expect(result.status == 2 && result.error.contains("error=name-not-found host=gone.one.test"), "\(result)")
        let quiet = try await run(rig, command)
        #expect(quiet.status == 2 && quiet.error.isEmpty, "\(quiet)")
    }

    @Test("A signal reaches the command, whose answer is the status", arguments: ["USR1", "INT"])
    func forwards(_ signal: String) async throws {
        let folder = try TemporaryFolder()
        let script = """
            set -m  # Without it a shell's background commands ignore INT.
            "$1" run --map a.test=127.0.0.4 -- sh -c 'trap "exit 9" \(signal); : > "$0/ready"; while :; do sleep 0.05; done' "$0" &
            while [ ! -e "$0/ready" ]; do sleep 0.05; done
            kill -\(signal) $!
            wait $!
            """
        let program = try BuiltProduct.path("resolve-test")
        #expect(try await Command("bash", ["-c", script, folder.path, program]).run().status == 9)
    }

    @Test(
        "A command follows a change of the file, by hosts file and by library",
        .timeLimit(.minutes(1)),
        arguments: [
            "one.test", "*.wild.test",
        ]
    )
    func follows(_ rule: String) async throws {
        guard rule == "one.test" || NameServiceLibrary.isUsable else { return }
        let folder = try TemporaryFolder()
        let file = folder.path + "/httpdns.yaml"
        func text(_ address: String) -> String { "version: 1\nmappings:\n  \"\(rule)\": [\(address)]\n" }
        try Data(text("127.0.0.2").utf8).write(to: URL(fileURLWithPath: file))
        let next = folder.path + "/next.yaml"
        try Data(text("127.0.0.3").utf8).write(to: URL(fileURLWithPath: next))
        let host = rule.replacingOccurrences(of: "*", with: "img")
        let script = """
            getent hosts \(host); mv "$0/next.yaml" "$0/httpdns.yaml"
            while ! getent hosts \(host) | grep -q 127.0.0.3; do sleep 0.05; done; echo moved
            """
        var program = Command(
            try BuiltProduct.path("resolve-test"),
            ["run", "--config", file, "--", "sh", "-c", script, folder.path]
        )
        if rule != "one.test" { program.environment = NameServiceLibrary.environment }
        let result = try await program.run()
        #expect(result.output.hasPrefix("127.0.0.2") && result.output.hasSuffix("moved\n"), "\(result)")
    }

    /// A network of its own, whose only DNS server logs names.
    private static let inOwnNetwork = """
        ip link set lo up
        printf 'nameserver 127.0.0.53\\noptions timeout:1 attempts:1\\n' > "$0/resolv.conf"
        mount --bind "$0/resolv.conf" /etc/resolv.conf
        /usr/bin/python3 -c 'import socket
        s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(("127.0.0.53",53)); print(".",flush=True)
        while True:
            d,a=s.recvfrom(4096); n=[]; i=12
            while d[i]: n.append(d[i+1:i+1+d[i]].decode()); i+=d[i]+1
            print(".".join(n),flush=True)
            r=b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x1e\\0\\4\\x7f\\0\\0\\x0a" if d[i+2]==1 else b""
            s.sendto(d[:2]+b"\\x81\\x80\\0\\1"+(b"\\0\\1" if r else b"\\0\\0")+b"\\0\\0\\0\\0"+d[12:i+5]+r,a)' > "$0/queries" &
        while [ ! -s "$0/queries" ]; do sleep 0.02; done
        # getent asks with AI_ADDRCONFIG, which hides every address where there is only a loopback interface.
        /usr/bin/python3 -c 'import socket
        for n in ["one.test", "img.wild.test", "outside.test"]: print(socket.getaddrinfo(n,80,2,1)[0][4][0])'
        kill $!
        """

    @Test(
        "Names without mapping and route go to DNS, and others never do",
        .enabled(if: NameServiceLibrary.isUsable && Command.find("/usr/bin/python3") != nil),
        arguments: [true, false]
    )
    func others(_ isRunHere: Bool) async throws {
        let folder = try TemporaryFolder()
        let network = ["unshare", "-mn", "sh", "-c", Self.inOwnNetwork, folder.path]
        let options = ["run", "--map", "one.test=127.0.0.4", "--map", "*.wild.test=127.0.0.2", "--"]
        let program = isRunHere ? [try BuiltProduct.path("resolve-test")] + options + network : network
        var command = Command(program[0], Array(program.dropFirst()))
        command.environment = NameServiceLibrary.environment
        let result = try await command.run()
        let addresses = result.output.split(separator: "\n")
        let asked = Set(try String(contentsOfFile: folder.path + "/queries", encoding: .utf8).split(separator: "\n"))
        let mapped: [Substring] = isRunHere ? ["127.0.0.4", "127.0.0.2"] : ["127.0.0.10", "127.0.0.10"]
        #expect(addresses == mapped + ["127.0.0.10"], "\(result)")
        // Without us DNS is asked: the test would see it.
        #expect(asked == (isRunHere ? [".", "outside.test"] : [".", "one.test", "img.wild.test", "outside.test"]))
    }
}
#endif
