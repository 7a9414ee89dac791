// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import Testing

@testable import ServerRig
@testable import resolve_test

/// Whole runs on terminals and without one, whose output does not depend on the machine.
struct GoldenProgramTests {
    struct Run: Sendable, CustomTestStringConvertible {
        var name: String
        var line: String
        var status: Int32 = 0
        var testDescription: String { name }
    }

    /// The environment of a run.
    private struct Form {
        var heading: String
        /// Nil for no terminal.
        var columns: Int?
        var environment: [String: String]
    }

    static let runs = [
        Run(name: "help", line: "--help"), Run(name: "help-resolve", line: "resolve --help"),
        Run(name: "help-fetch", line: "fetch --help"), Run(name: "version", line: "--version"),
        Run(name: "program-resolve", line: "One.Test. long.name.shop.example:8443 127.0.0.1 \(maps)"),
        Run(name: "program-short", line: "+short one.test long.name.shop.example:8443 \(maps)"),
        Run(name: "program-explain", line: "'https://One.Test:8443/v1?q=1' -v \(maps)"),
        Run(name: "check", line: "check -v httpdns.yaml"), Run(name: "check-errors", line: "check bad.yaml", status: 2),
        Run(name: "export-hosts", line: "export httpdns.yaml"),
        Run(name: "export-curl", line: "export --format curl \(maps)"),
        Run(name: "error", line: "fecth https://one.test/", status: 2),
        Run(name: "error-explain", line: "https://one.test/ --map one.test=169.254.1.1", status: 1),
    ]

    private static let maps =
        "--map one.test=127.0.0.2,127.0.0.3,::1 --map long.name.shop.example:8443=127.0.0.4:9443,2001:db8::7"

    private static let forms = [
        Form(heading: "terminal, 80 columns", columns: 80, environment: [:]),
        Form(heading: "terminal, 40 columns", columns: 40, environment: [:]),
        Form(heading: "terminal, 80 columns, NO_COLOR=1", columns: 80, environment: ["NO_COLOR": "1"]),
        Form(heading: "terminal, 80 columns, TERM=dumb", columns: 80, environment: ["TERM": "dumb"]),
        Form(heading: "no terminal", columns: nil, environment: [:]),
        Form(heading: "no terminal, LANG=C", columns: nil, environment: ["LANG": "C"]),
    ]

    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        _ = try folder.write(
            """
            version: 1
            providers:
              main: { kind: doh, url: "https://1.1.1.1/dns-query" }
              second: { kind: doh, url: "https://8.8.8.8/dns-query" }
            routes:
              "*.shop.example": { providers: [main, second], fallback: system }
            mappings:
              img.shop.example: 203.0.113.7
              pay.shop.example: [203.0.113.20, "2001:db8::20"]
              "*.old.example": { via: img.shop.example }
            policy: { allow: [10.0.0.0/8], deny: [203.0.113.99] }
            """,
            to: "httpdns.yaml"
        )
        _ = try folder.write("version: 1\nmappings: { a.test: 127.0.0.300, b.test: }\nnope: 1\n", to: "bad.yaml")
        chmod(folder.path("httpdns.yaml"), 0o600)
        return folder
    }

    /// - Parameters:
    ///   - before: Commands of the shell before the run.
    ///   - file: A file that gets what the terminal shows; nil for none.
    private static func output(
        _ run: Run,
        _ form: Form,
        in folder: TemporaryFolder,
        before: String = "",
        to file: String? = nil
    ) async throws -> CommandResult {
        var environment = ["TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "", "LC_CTYPE": ""]
        environment.merge(form.environment) { $1 }
        let line = "cd '\(folder.path)'; \(before) exec '\(Program.path)' \(run.line)"
        var command = Program.command([], environment: environment)
        if let columns = form.columns {
            (command.program, command.arguments) = (
                "sh",
                [
                    "-c", "exec script -qec \"$0\" /dev/null\(file == nil ? "" : " > \"$1\"")",
                    "stty cols \(columns); \(line)",
                ]
                    + [file].compactMap(\.self)
            )
        } else {
            (command.program, command.arguments) = ("sh", ["-c", line])
        }
        return try await command.run()
    }

    @Test(
        "The output in each environment is that of the file",
        .enabled(if: Command.find("script") != nil),
        arguments: runs
    )
    func golden(run: Run) async throws {
        let folder = try Self.folder()
        var sections: [Golden.Section] = []
        for form in Self.forms {
            let result = try await Self.output(run, form, in: folder)
            #expect(result.status == run.status, "\(form.heading): \(result)")
            let both = result.output + result.error
            // An error is one line, whatever the width, and other programs read what export prints.
            if run.status == 0, !run.name.hasPrefix("export") {
                Golden.checkWidth(both, columns: form.columns ?? .max, "\(run.name), \(form.heading)")
            }
            if form.columns == nil || !form.environment.isEmpty { #expect(!both.contains("\u{1B}"), "\(form.heading)") }
            if form.environment["LANG"] == "C" { #expect(both.utf8.allSatisfy { $0 < 0x80 }) }
            sections.append(.init(heading: form.heading, text: both.replacing(folder.path, with: "FOLDER")))
        }
        try Golden.compare(run.name, sections)
    }

    #if LocalProvider
    /// Starts a local provider, queries it, replaces its file by one with a mistake, and ends it.
    private static func served(_ form: Form) async throws -> String {
        let folder = try TemporaryFolder()
        let mappings = "mappings: { one.test: 127.0.0.7, \"*.two.test\": 203.0.113.7 }\n"
        let faults = "serve: { hosts: { slow.test: { delay: 1ms, fail: 503 } } }\n"
        _ = try folder.write("version: 1\n\(mappings)\(faults)", to: "served.yaml")
        let file = try folder.write("", to: "output")
        func awaitLine(_ part: String) async throws -> String {
            let found = try await watch(file, within: .seconds(120)) {
                try LogFile(path: file).lines(since: .beginning).map(String.init).first { $0.contains(part) }
            }
            return try #require(found, "no line with \(part): \(folder.read("output") ?? "")")
        }
        let begin = "echo $$ > pid; exec > output 2>&1;"
        async let run = output(
            Run(name: "serve", line: "serve served.yaml -v --port 0"),
            form,
            in: folder,
            before: form.columns == nil ? begin : "echo $$ > pid;",
            to: form.columns == nil ? nil : file
        )
        // The last line of the start.
        _ = try await awaitLine("note: ")
        let port = try #require(try await awaitLine("listening").firstMatch(of: /127\.0\.0\.1:([0-9]+)/)?.1)
        for (path, line) in [
            ("/resolve?name=one.test&type=1", "json-google one.test"), ("/v2/d?id=1&m=0&dn=slow.test", "slow.test"),
            ("/resolve?name=three.test&type=28", "three.test"), ("/nothing", " 404 "),
        ] {
            let result = try await Command("curl", ["-sS", "--noproxy", "*", "http://127.0.0.1:\(port)\(path)"]).run()
            #expect(result.status == 0, "\(result)")
            _ = try await awaitLine(line)
        }
        try folder.replace("served.yaml", with: "version: 1\nnope: 1\n")
        _ = try await awaitLine("reload")
        kill(try #require(folder.read("pid").flatMap { Int32($0.dropLast()) }), SIGTERM)
        let status = try await run.status
        #expect(status == 143)
        return try #require(folder.read("output")).replacing(folder.path, with: "FOLDER")
            .replacing("127.0.0.1:\(port)", with: "127.0.0.1:PORT")
            .replacing(#/^[0-9]{2}:[0-9]{2}:[0-9]{2} /#.anchorsMatchLineEndings(), with: "HH:MM:SS ")
    }

    @Test("The output of serve is that of the file", .enabled(if: Command.find("script") != nil))
    func serve() async throws {
        var sections: [Golden.Section] = []
        for form in Self.forms {
            let text = try await Self.served(form)
            #expect(!text.contains("\u{1B}") && text.utf8.allSatisfy { $0 < 0x80 }, "\(form.heading)")
            sections.append(.init(heading: form.heading, text: text))
        }
        try Golden.compare("serve", sections)
    }
    #endif

    /// Without a message, as other programs end.
    @Test(
        "A reader that has gone ends the program with 141 and no message",
        arguments: runs.filter { $0.status == 0 }
            + [
                Run(name: "json", line: "resolve --json one.test \(maps)"),
                Run(name: "watch", line: "watch one.test --for 60s \(maps)"),
                Run(name: "compare", line: "compare one.test \(maps)"),
                Run(name: "export-json", line: "export --json \(maps)"),
                Run(name: "check-json", line: "check --json httpdns.yaml"),
                Run(name: "completions", line: "--generate-completion-script bash"),
            ]
    )
    func closedPipe(run: Run) async throws {
        let folder = try Self.folder()
        // The pipe has had its only reader before the program begins, so that the first write fails.
        let line = "cd '\(folder.path)'; mkfifo pipe; exec 3<>pipe 4>pipe 3>&-; exec '\(Program.path)' \(run.line) >&4"
        let result = try await Command("sh", ["-c", line], environment: ["HTTPDNS_CONFIG": ""]).run()
        #expect(result.status == 141 && result.error == "", "\(result)")
    }

    @Test(
        "A reader that has gone ends a command that has sent its request",
        arguments: ["fetch -s", "fetch", "fetch --json", "bench -n 2 --warm-up 0s", "bench -n 2 --warm-up 0s --json"]
    )
    func closedPipeOfRequest(line: String) async throws {
        let server = try RawServer { _ in [.readHead, .respond("body", fields: "Connection: close\r\n")] }
        let folder = try TemporaryFolder()
        let pipe = "'\(folder.path)/pipe'"
        let shell = "mkfifo \(pipe); exec 3<>\(pipe) 4>\(pipe) 3>&-; exec \"$0\" \"$@\" >&4 2>/dev/null"
        let arguments = line.split(separator: " ").map(String.init)
        let result = try await Program.shell(
            shell,
            arguments + ["http://one.test:\(server.port)/", "--map", "one.test=127.0.0.1"]
        )
        #expect(result.status == 141 && !server.connections.isEmpty, "\(result)")
    }

    @Test(
        "Ctrl-C while a command waits ends it with 130",
        arguments: [
            "resolve one.test", "explain https://one.test/", "https://one.test/", "one.test +short", "HTTPS one.test",
        ]
    )
    func interrupted(line: String) async throws {
        let server = try RawServer(.hang)
        let folder = try TemporaryFolder()
        // A busy machine may need longer than the default time limit.
        let file = try folder.write(
            """
            version: 1
            providers: { main: { kind: doh, url: "https://127.0.0.1:\(server.port)/dns-query" } }
            routes: { "*": { providers: [main] } }
            resolver: { time_limit: 2m, attempt_limit: 1m }
            """,
            to: "httpdns.yaml"
        )
        let shell = "echo $$ > '\(folder.path)/pid'; exec \"$0\" \"$@\""
        let arguments = line.split(separator: " ").map(String.init) + ["--config", file]
        async let run = Program.shell(shell, arguments)
        try await server.awaitConnections { !$0.isEmpty }
        kill(try #require(folder.read("pid").flatMap { Int32($0.dropLast()) }), SIGINT)
        let result = try await run
        #expect(result.status == 130 && result.output == "", "\(result)")
        #expect(result.error.split(separator: "\n").count <= 1, "\(result)")
    }
}
#endif
