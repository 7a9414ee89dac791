// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

@testable import resolve_test

struct CurlArgumentsTests {
    @Test(
        "Letters, attached values and values that begin with a dash are read as in curl",
        arguments: [
            ("fetch -sSL u", "fetch -s -S -L u"), ("fetch -sSLo f u", "fetch -s -S -L -o f u"),
            ("fetch u -XPOST", "fetch u -X POST"), ("fetch -d@f u", "fetch --data @f u"),
            ("fetch -HA:b u", "fetch -H A:b u"), ("fetch -o- u", "fetch -o - u"), ("fetch -C - u", "fetch -C - u"),
            ("fetch -H -x u", "fetch -H -x u"), ("fetch --data -sS u", "fetch --data -sS u"),
            ("fetch --request=PUT u", "fetch --request PUT u"), ("fetch --output=a=b u", "fetch --output a=b u"),
            ("fetch -o=f u", "fetch -o =f u"), ("fetch -d= u", "fetch --data = u"),
            ("fetch -# u", "fetch --progress-bar u"), ("fetch -sS -- -u -sS", "fetch -s -S -- -u -sS"),
            ("fetch --socks5 h:1 u", "fetch --proxy socks5://h:1 u"),
            ("fetch --socks5-hostname h u", "fetch --proxy socks5h://h u"), ("fetch -d", "fetch -d"),
            ("fetch --json -v u", "fetch --json -v u"), ("bench -XPOST -c5 -n 3 u", "bench -X POST -c 5 -n 3 u"),
            ("resolve -sS", "resolve -sS"), ("", ""),
        ]
    )
    func forms(line: String, normal: String) throws {
        let words = line.split(separator: " ").map(String.init)
        #expect(try CurlArguments.normalized(words).joined(separator: " ") == normal)
    }

    @Test("Parts of a body keep their order and their reading")
    func data() throws {
        let words = ["fetch", "-d", "a", "--data-raw", "@b", "--data-binary=@c", "--data-urlencode", "d=e f", "u"]
        let values = try CurlArguments.normalized(words).filter { $0 != "--data" }.dropFirst().dropLast()
        #expect(
            values.map(DataArgument.init(argument:)) == [
                DataArgument("a"), DataArgument("@b", .raw), DataArgument("@c", .binary),
                DataArgument("d=e f", .encoded),
            ]
        )
    }

    @Test(
        "An option of curl that fetch lacks is refused with advice, in any form",
        arguments: ["-sK", "--next", "--tr-encoding"]
    )
    func missing(option: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try CurlArguments.normalized(["fetch", option, "f", "u"])
        }
        #expect(failure?.exitStatus == 2 && failure?.hint?.isEmpty == false)
        #expect(failure?.message.hasPrefix("fetch does not have curl's \(option == "-sK" ? "-K" : option)") == true)
    }

    /// A value that begins with a dash would be read as an option otherwise.
    @Test("The options with a value are the declared ones", arguments: ["fetch", "bench"])
    func table(command: String) async throws {
        let help = try await Program.run([command, "--experimental-dump-help"])
        let object = try #require(try JSONSerialization.jsonObject(with: Data(help.output.utf8)) as? [String: Any])
        let arguments = try #require((object["command"] as? [String: Any])?["arguments"] as? [[String: Any]])
        var declared: Set<String> = []
        for argument in arguments where argument["kind"] as? String == "option" {
            for name in argument["names"] as? [[String: String]] ?? [] {
                declared.insert((name["kind"] == "short" ? "-" : "--") + (name["name"] ?? ""))
            }
        }
        #expect(CurlArguments(command: command)?.valued == declared)
        // bench has curl's options of the request only.
        #expect(command == "bench" || declared.isDisjoint(with: CurlArguments.refused.keys))
    }

    /// The options that `curl --help` lists under these subjects.
    @Test(
        "Each option in curl's help about HTTP is there, or refused with advice",
        .enabled(if: Command.find("curl") != nil),
        arguments: ["http", "post", "upload", "connection", "output", "tls", "proxy", "auth"]
    )
    func everyOption(subject: String) async throws {
        let curl = try await Command("curl", ["--help", subject]).run()
        let names = curl.output.split(separator: "\n").compactMap { $0.firstMatch(of: /--[a-z0-9.-]+/)?.output }
        #expect(names.count > 3, "\(curl)")
        let help = try await Program.run(["fetch", "--help-hidden"]).output
        let words = Set(help.split { $0.isWhitespace || $0 == "," || $0 == "/" }.map(String.init))
        let unknown = names.map(String.init).filter { !words.contains($0) && CurlArguments.refused[$0] == nil }
        #expect(unknown == [])
    }
}
#endif
