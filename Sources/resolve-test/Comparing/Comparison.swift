// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

/// The answers of HTTP-DNS and the system resolver for one name, with their verification by TLS.
struct Comparison: Sendable {
    /// The answer of a side: that which the client's requests would use, or that of the system resolver, before any policy.
    enum Answer: Sendable {
        case resolved(HTTPDNSResolver.Resolution)
        /// A definite answer without addresses, such as `name not found`.
        case nothing(String)
        /// No provider and no mapping covers the name.
        case notAsked(String)
        case failed(CommandFailure)

        static func system(_ addresses: [HTTPDNSAddress], port: UInt16) -> Answer {
            .resolved(.init(endpoints: addresses.map { HTTPDNSEndpoint(address: $0, port: port) }, source: .system))
        }

        /// The addresses with their ports; empty without any.
        var endpoints: [HTTPDNSEndpoint] {
            if case .resolved(let resolution) = self { resolution.endpoints } else { [] }
        }
    }

    /// The result of a connection to one address with the name.
    enum Proof: Hashable, Sendable {
        case verified(Duration)
        /// The peer cannot prove the name, or the address must not be dialed.
        case refused(String)
        /// There was no response, which proves nothing.
        case unreachable(String)
    }

    var host: HTTPDNSName
    var port: UInt16
    var client: Answer
    var system: Answer
    /// The results by endpoint; without probes only of endpoints that must not be dialed.
    var proofs: [HTTPDNSEndpoint: Proof] = [:]
    /// Whether the answers were verified.
    var isProbed = false

    /// All endpoints without duplicates, the client's first.
    var endpoints: [HTTPDNSEndpoint] {
        var seen: Set<HTTPDNSEndpoint> = []
        return (client.endpoints + system.endpoints).filter { seen.insert($0).inserted }
    }

    /// Whether both sides gave an answer, positive or negative.
    var isComparable: Bool {
        switch (client, system) {
        case (.notAsked, _), (.failed, _), (_, .failed): false
        default: true
        }
    }
}

extension Comparison {
    struct Verdict: Hashable, Sendable {
        enum Kind: String, Hashable, Sendable {
            /// The answers are not suspicious.
            case harmless
            /// There was nothing to compare, or TLS could neither confirm nor refute an answer.
            case undecided
            case suspicious
        }

        var kind: Kind
        /// A short identifier for programs.
        var code: String
        var text: String
    }

    /// - Parameter isStrict: Whether a mere difference is suspicious.
    func verdict(isStrict: Bool) -> Verdict {
        guard isComparable else { return Verdict(kind: .undecided, code: "not-compared", text: reasonWhyNot) }
        let (ours, theirs) = (Set(client.endpoints), Set(system.endpoints))
        if ours.isEmpty, theirs.isEmpty {
            return Verdict(kind: .undecided, code: "unknown-name", text: "neither knows the name: nothing to compare")
        }
        let word = ours == theirs ? "same" : "differs"
        if let (code, text) = refusal(ours, theirs) {
            return Verdict(kind: .suspicious, code: code, text: "\(word), and \(text)")
        }
        if let silent {
            return Verdict(
                kind: .undecided,
                code: "unproven",
                text: "\(word), and \(silent) could not be reached: nothing proved there"
            )
        }
        if ours == theirs {
            return Verdict(kind: .harmless, code: "same", text: isProbed ? "same, and genuine" : "same")
        }
        let (code, text) = difference(ours, theirs)
        return Verdict(
            kind: isStrict ? .suspicious : .harmless,
            code: code,
            text: "differs\(text)\(isStrict ? " (--strict)" : "")"
        )
    }

    /// Returns what a refused address of a side means; nil without one.
    private func refusal(_ ours: Set<HTTPDNSEndpoint>, _ theirs: Set<HTTPDNSEndpoint>) -> (code: String, text: String)?
    {
        func isRefused(_ endpoint: HTTPDNSEndpoint) -> Bool {
            if case .refused? = proofs[endpoint] { true } else { false }
        }
        switch (ours.contains(where: isRefused), theirs.contains(where: isRefused)) {
        case (false, false): return nil
        case (false, true): return ("system-refused", "the system answer cannot prove the name: hijack suspected")
        case (true, false):
            let origin = isMapped ? "mapping" : "provider"
            return ("client-refused", "the \(clientName) answer cannot prove the name: do not trust this \(origin)")
        case (true, true):
            return (
                "both-refused",
                "neither answer can prove the name: this is no TLS service, --cacert FILE must name its authority, "
                    + "or both answers are hijacked"
            )
        }
    }

    /// The addresses that could not be reached; nil without one.
    private var silent: String? {
        let silent = endpoints.filter { if case .unreachable? = proofs[$0] { true } else { false } }
        return silent.count > 1 ? "\(silent.count) addresses" : silent.first.map { "\($0.address)" }
    }

    private func difference(_ ours: Set<HTTPDNSEndpoint>, _ theirs: Set<HTTPDNSEndpoint>) -> (
        code: String, text: String
    ) {
        let proof = isProbed ? ", which is genuine" : ""
        if theirs.isEmpty {
            return ("system-absent", ": the system resolver has no address, so only \(clientName) answers\(proof)")
        }
        if ours.isEmpty {
            return ("client-absent", ": \(clientName) has no address, so only the system resolver answers\(proof)")
        }
        return (
            "differs",
            isProbed
                ? ", both genuine: normal for a CDN"
                : ": normal for a CDN; --probe checks that each address proves the name"
        )
    }

    private var isMapped: Bool {
        if case .resolved(let resolution) = client { resolution.source == .mapping } else { false }
    }

    /// The label of the client's side.
    var clientName: String { isMapped ? "mapping" : "HTTP-DNS" }

    var clientHeading: String { isMapped ? "this client" : "HTTP-DNS" }

    private var reasonWhyNot: String {
        switch (client, system) {
        case (.notAsked(let reason), _): "not compared: \(reason)"
        case (.failed(let failure), _): "not compared: \(failure.message)"
        case (_, .failed(let failure)): "not compared: the system resolver failed: \(failure.message)"
        default: "not compared"
        }
    }
}
#endif
