// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct VerdictTests {
    /// The last parts of addresses in 203.0.113.0/24, each with what came of its proof: `7+` verified, `7!` refused, `7?`
    /// unreachable, `7` not probed.
    struct Case: Sendable, CustomTestStringConvertible {
        var client: String
        var system: String
        var code: String
        var kind: Comparison.Verdict.Kind
        var testDescription: String { "\(client) beside \(system)" }

        init(_ client: String, _ system: String, _ code: String, _ kind: Comparison.Verdict.Kind) {
            (self.client, self.system, self.code, self.kind) = (client, system, code, kind)
        }
    }

    static func comparison(_ client: String, _ system: String) throws -> Comparison {
        var proofs: [HTTPDNSEndpoint: Comparison.Proof] = [:]
        func endpoints(_ text: String) throws -> [HTTPDNSEndpoint] {
            try text.split(separator: " ").map { part in
                let digits = part.prefix { $0.isNumber }
                let last = try #require(UInt8(digits))
                let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, last), port: 443)
                switch part.dropFirst(digits.count) {
                case "+": proofs[endpoint] = .verified(.milliseconds(8))
                case "!": proofs[endpoint] = .refused("certificate is for *.parking.example")
                case "?": proofs[endpoint] = .unreachable("Connection refused")
                default: break
                }
                return endpoint
            }
        }
        let ours = try endpoints(client)
        let theirs = try endpoints(system)
        var comparison = Comparison(
            host: try HTTPDNSName("img.shop.example"),
            port: 443,
            client: ours.isEmpty
                ? .nothing("name not found")
                : .resolved(HTTPDNSResolver.Resolution(endpoints: ours, source: .provider)),
            system: theirs.isEmpty ? .nothing("name not found") : .system(theirs.map(\.address), port: 443)
        )
        comparison.proofs = proofs
        comparison.isProbed = proofs.values.contains { if case .refused = $0 { false } else { true } }
        return comparison
    }

    @Test(
        "The verdict follows from the two answers and their proofs",
        arguments: [
            Case("7", "7", "same", .harmless), Case("7 8", "8 7", "same", .harmless),
            Case("7+", "7+", "same", .harmless), Case("7", "8", "differs", .harmless),
            Case("7 8", "8", "differs", .harmless), Case("7+", "8+", "differs", .harmless),
            Case("7", "", "system-absent", .harmless), Case("7+", "", "system-absent", .harmless),
            Case("", "7", "client-absent", .harmless), Case("", "7+", "client-absent", .harmless),
            Case("", "", "unknown-name", .undecided),
            // Only a system answer that cannot prove the name is called a hijack.
            Case("7+", "66!", "system-refused", .suspicious), Case("7+", "8+ 66!", "system-refused", .suspicious),
            Case("", "66!", "system-refused", .suspicious), Case("7?", "66!", "system-refused", .suspicious),
            // Without a probe: an address that nobody may dial.
            Case("7", "66!", "system-refused", .suspicious),
            Case("66!", "7+", "client-refused", .suspicious), Case("66!", "", "client-refused", .suspicious),
            Case("66!", "67!", "both-refused", .suspicious), Case("66!", "66!", "both-refused", .suspicious),
            // Silence proves nothing, and does not hide a refusal.
            Case("7+", "8?", "unproven", .undecided), Case("7?", "8+", "unproven", .undecided),
            Case("7?", "7?", "unproven", .undecided), Case("7+", "8? 66!", "system-refused", .suspicious),
        ]
    )
    func table(example: Case) throws {
        let verdict = try Self.comparison(example.client, example.system).verdict(isStrict: false)
        #expect(verdict.code == example.code)
        #expect(verdict.kind == example.kind)
        #expect(verdict.text.contains("hijack suspected") == (example.code == "system-refused"))
    }

    @Test(
        "When strict, every difference is suspicious, and nothing else becomes so",
        arguments: [
            ("7", "8", Comparison.Verdict.Kind.suspicious), ("7+", "8+", .suspicious), ("7", "", .suspicious),
            ("", "7", .suspicious), ("7", "7", .harmless), ("7+", "7+", .harmless), ("7+", "8?", .undecided),
            ("", "", .undecided),
        ]
    )
    func strict(client: String, system: String, kind: Comparison.Verdict.Kind) throws {
        let verdict = try Self.comparison(client, system).verdict(isStrict: true)
        #expect(verdict.kind == kind)
    }

    @Test("A host that could not be compared is undecided, with the reason")
    func incomparable() throws {
        var comparison = try Self.comparison("7", "8")
        comparison.system = .failed(.failed(code: "timed-out", "timed out after 3 s"))
        #expect(
            comparison.verdict(isStrict: true).text == "not compared: the system resolver failed: timed out after 3 s"
        )
        comparison.client = .notAsked("no route leads img.shop.example to a provider")
        let verdict = comparison.verdict(isStrict: true)
        #expect(verdict.kind == .undecided && verdict.code == "not-compared")
        #expect(verdict.text == "not compared: no route leads img.shop.example to a provider")
    }

    @Test(
        "A peer without TLS cannot prove the name; a silent peer proves nothing",
        arguments: [
            ("certificate-refused", "tls", true), ("connect-failed", "tls", true), ("connect-failed", "connect", false),
            ("timed-out", "connect", false), ("timed-out", "tls", false), ("policy-refused", "policy", false),
        ]
    )
    func failures(code: String, phase: String, isRefused: Bool) {
        var failure = CommandFailure.failed(code: code, "what happened")
        failure.phase = phase
        #expect(Comparer.proof(of: failure) == (isRefused ? .refused("what happened") : .unreachable("what happened")))
    }
}
#endif
