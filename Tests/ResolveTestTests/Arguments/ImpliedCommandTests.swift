// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Testing

@testable import resolve_test

/// Arguments without a command, and options before it.
struct ImpliedCommandTests {
    private func complete(_ line: String) throws -> String {
        try ImpliedCommand.complete(line.split(separator: " ").map(String.init)).joined(separator: " ")
    }

    @Test(
        "A name means resolve, a URL explain, and options may stand before both",
        arguments: [
            ("one.test", "resolve one.test"), ("db", "resolve db"), ("localhost:81", "resolve localhost:81"),
            ("127.0.0.1 one.test --json", "resolve 127.0.0.1 one.test --json"),
            ("http://one.test/", "explain http://one.test/"),
            ("--map a.test=127.0.0.2 http://a.test/ -v", "explain --map a.test=127.0.0.2 http://a.test/ -v"),
            ("--public one.test", "resolve --public one.test"),
            ("--doh=https://1.1.1.1/q one.test", "resolve --doh=https://1.1.1.1/q one.test"),
            ("+short one.test", "resolve +short one.test"), ("A one.test", "resolve A one.test"),
            ("-t AAAA one.test", "resolve -t AAAA one.test"),
            ("-tAAAA one.test", "resolve -tAAAA one.test"), ("-tA --json fetch.", "resolve -tA --json fetch."),
            ("-x 127.0.0.1", "resolve -x 127.0.0.1"),
            ("@https://1.1.1.1/dns-query one.test", "resolve @https://1.1.1.1/dns-query one.test"),
            ("--cacert f --allow 10.0.0.0/8 one.test", "resolve --cacert f --allow 10.0.0.0/8 one.test"),
            ("-- one.test", "resolve -- one.test"), ("--json", "resolve --json"), ("fetch.", "resolve fetch."),
            ("fetch:81", "resolve fetch:81"), ("--map", "resolve --map"),
        ]
    )
    func implied(line: String, completed: String) throws {
        #expect(try complete(line) == completed)
    }

    @Test(
        "A named command comes first, and options of the parser stay as they are",
        arguments: [
            ("fetch http://a.test/ -v", "fetch http://a.test/ -v"),
            ("--json -v check file", "check --json -v file"),
            ("--map a.test=::1 resolve a.test", "resolve --map a.test=::1 a.test"),
            ("help fetch", "help fetch"), ("--version", "--version"), ("--nope one.test", "--nope one.test"),
            ("--generate-completion-script bash", "--generate-completion-script bash"),
        ]
    )
    func named(line: String, completed: String) throws {
        #expect(try complete(line) == completed)
    }

    @Test(
        "A word within two letters of a command is refused with a suggestion",
        arguments: [
            ("fecth", "fetch"), ("Resolve", "resolve"), ("explian", "explain"), ("exprot", "export"),
            ("server", "serve"),
            ("swich", "switch"), ("--json dmup", "dump"),
        ]
    )
    func similar(line: String, command: String) throws {
        let word = line.split(separator: " ").last ?? ""
        do {
            Issue.record("it became \(try complete(line + " https://one.test/"))")
        } catch let failure as CommandFailure {
            #expect(failure.exitStatus == 2)
            #expect(failure.message == "there is no command \"\(word)\"; did you mean \"\(command)\"?")
            #expect(failure.hint?.hasPrefix("resolve-test resolve \(word) resolves the name") == true)
        }
    }
}
#endif
