// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import resolve_test

struct FlagHintTests {
    private typealias Code = HTTPDNSClientError.Code
    private typealias Phase = HTTPDNSClientError.Phase

    /// The hints of the library's errors, from its sources: the texts in lines with the word hint and behind them, and all texts of
    /// the errors.
    private static func libraryHints() throws -> Set<String> {
        let folder = Repository.path("Sources/HTTPDNS")
        var hints: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) where path.hasSuffix(".swift") {
            var isBehind = false
            for line in try Repository.text("Sources/HTTPDNS/\(path)").utf8.split(separator: UInt8(ascii: "\n")) {
                let isHint = line.firstRange(of: "int".utf8) != nil
                guard isHint || isBehind || path.hasPrefix("Errors/") else { continue }
                isBehind = isHint
                // Texts are the odd parts between quotes; an escaped quote ends a part, too.
                let parts = line.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
                for index in parts.indices where !index.isMultiple(of: 2) {
                    hints.insert(String(decoding: parts[index], as: UTF8.self))
                }
            }
        }
        return hints
    }

    /// The codes that the library declares, from its sources.
    private static func codes() throws -> [String: Code] {
        let text = try Repository.text("Sources/HTTPDNS/Errors/HTTPDNSClientError.swift")
        let names = text.matches(of: /static let (\w+) = Code\(description: "([a-z-]+)"\)/).map { String($0.output.2) }
        let known: [Code] = [
            .invalidURL, .invalidRequest, .configuration, .resolveFailed, .policyRefused, .proxyUnreachable,
            .proxyRefused,
            .proxyLoginRefused, .localSourceUnusable, .connectFailed, .certificateRefused, .timedOut, .connectionLost,
            .transportFailed, .protocolViolation, .responseTooLarge, .decodingFailed, .fileFailed, .unexpectedStatus,
            .unexpectedType, .checksumMismatch, .requestBodyFailed, .bodyConsumedTwice, .loop, .interceptorFailed,
            .authenticationFailed, .redirectRefused, .tooManyRedirects, .redirectLoop, .limitReached, .blockingRefused,
            .unmatchedRequest, .offline, .shutDown,
        ]
        #expect(Set(known.map(\.description)) == Set(names))
        return Dictionary(uniqueKeysWithValues: known.map { ($0.description, $0) })
    }

    private static func shown(_ code: Code, _ phase: Phase, _ hint: String) -> String {
        CommandFailure(HTTPDNSClientError(code: code, phase: phase, message: "m", hint: hint)).hint ?? ""
    }

    /// Each hint of the library with the codes whose hints depend on it, and each code with hints that must not be shown.
    @Test("No hint of any error names a Swift setting")
    func noSwift() throws {
        let hints = try Self.libraryHints()
        #expect(hints.count > 100 && hints.contains("timeouts.connect bounds it"), "\(hints.count)")
        var shown: Set<String> = []
        for hint in hints {
            for code in [Code.connectFailed, .policyRefused] { shown.insert(Self.shown(code, .connect, hint)) }
        }
        let phases = [Phase.connect, .tls, .firstByte, .body, .queue, .total, .request, .redirect]
        for (code, phase) in try Self.codes().values.flatMap({ code in phases.map { (code, $0) } }) {
            for hint in ["timeouts.connect bounds it", "see trustRoots", "options.redirects = .off"] {
                shown.insert(Self.shown(code, phase, hint))
            }
        }
        #expect(shown.filter(FlagHint.namesSetting) == [])
        #expect(shown.count > 50)
    }

    @Test(
        "The name of a declaration is recognized, and a setting of a file is not",
        arguments: [
            ("timeouts.connect bounds it", true), ("name its authority in trust.roots", true), ("set trustRoots", true),
            ("the error is in underlying", true), ("options.redirects = .off shows it", true),
            ("give new ones to reload(_:)", true), ("use Proxy.credential", true), ("set client.proxy", false),
            ("set maximumRequestsInFlight", true), ("install a libcurl with OpenSSL (Debian)", false),
            ("allow it with 10.0.0.1 in policy.allow, or map the name", false),
            ("use -4 or IPv6 of img.shop.example", false),
            ("see resolve-test check 'a.yaml'", false), ("such as http://proxy.example:3128", false), ("", false),
        ]
    )
    func recognized(text: String, namesSetting: Bool) {
        #expect(FlagHint.namesSetting(text) == namesSetting)
    }

    @Test(
        "A message names options in place of Swift settings",
        arguments: [
            (#"localSource: "x y" is no name of a network interface"#, "--interface: \"x y\""),
            (#"hostHeader "a b" is not a host with an optional port"#, "-H 'Host: ...':"),
            ("unixSocket and proxy are both set", "--unix-socket and proxy"),
            ("options.addresses is .only([])", "--connect-to is"),
            ("127.0.0.1:1 connect: refused", "127.0.0.1:1 connect"),
        ]
    )
    func messages(text: String, begin: String) {
        let error = HTTPDNSClientError(code: .invalidRequest, phase: .request, message: text, hint: nil)
        let message = CommandFailure(error).message
        #expect(message.hasPrefix(begin))
        #expect(!message.contains("localSource") && !message.contains("hostHeader") && !message.contains("unixSocket"))
    }

    @Test(
        "A time-out names the key of the file for its phase",
        arguments: [
            (Phase.connect, "client.timeouts.connect"), (.tls, "client.timeouts.tls"), (.send, "client.timeouts.idle"),
            (.firstByte, "client.timeouts.first_byte"), (.body, "client.timeouts.idle"),
            (.queue, "client.connections.queue_wait"), (.resolve, "resolver.time_limit"),
        ]
    )
    func times(phase: HTTPDNSClientError.Phase, key: String) throws {
        let hint = Self.shown(.timedOut, phase, "x")
        #expect(hint.hasPrefix("\(key) in the configuration file sets this limit; --config FILE"), "\(hint)")
        // The key is one of the file's reference.
        let name = key.split(separator: ".").last.map(String.init) ?? ""
        #expect(try Repository.text("Docs/Configuration.md").contains(name))
    }

    @Test(
        "A refused address names the option that permits it",
        arguments: [
            ("doh", "--answer-scope loopback for one run"), ("doh-2", "--answer-scope loopback for one run"),
            ("google", "--answer-scope loopback for one run"), ("corp", "--allow ADDRESS for one run"),
        ]
    )
    func refusedAddresses(provider: String, option: String) {
        let own = "answer_scope: loopback of the provider (answerScope in code), or policy.allow"
        let error = HTTPDNSClientError(
            code: .policyRefused,
            phase: .policy,
            message: "127.0.0.2 is loopback; provider \"\(provider)\" may answer public addresses only",
            hint: own
        )
        let shown = "answer_scope: loopback of the provider, or policy.allow; \(option)"
        #expect(CommandFailure(error).hint == shown)
    }

    @Test("A hint that stays useful keeps its parts without a setting")
    func parts() {
        var error = HTTPDNSClientError(
            code: .limitReached,
            phase: .queue,
            message: "m",
            hint: "wait; raise maximumQueued"
        )
        #expect(CommandFailure(error).hint == "wait")
        error.hint = "raise maximumQueued"
        #expect(CommandFailure(error).hint == nil)
        error = HTTPDNSClientError(code: .timedOut, phase: .connect, message: "m", hint: "timeouts.connect bounds it")
        #expect(CommandFailure(error).hint?.contains("--connect-timeout") == true)
    }
}
#endif
