internal import HTTPDNS

extension CompareReport {
    /// Returns one line of JSON for each host.
    func json() -> String { comparisons.map { json($0).oneLine + "\n" }.joined() }

    private func json(_ comparison: Comparison) -> JSONValue {
        let verdict = comparison.verdict(isStrict: isStrict)
        return .object([
            ("host", .text(comparison.host.description)),
            ("port", .integer(Int(comparison.port))),
            ("client", Self.json(comparison.client, port: comparison.port)),
            ("system", Self.json(comparison.system)),
            (
                "probes",
                comparison.isProbed || !comparison.proofs.isEmpty
                    ? .array(
                        comparison.endpoints.compactMap { endpoint in
                            comparison.proofs[endpoint].map { Self.json($0, of: endpoint, port: comparison.port) }
                        }
                    ) : .null
            ),
            ("verdict", .text(verdict.code)),
            ("suspicious", .bool(verdict.kind == .suspicious)),
            ("text", .text(verdict.text)),
        ])
    }

    private static func json(_ answer: Comparison.ClientAnswer, port: UInt16) -> JSONValue {
        switch answer {
        case .resolved(let resolution):
            .object(ResolutionJSON.members(resolution, urlPort: port) + [("error", .null)])
        case .nothing(let reason), .notAsked(let reason):
            .object([("addresses", .array([])), ("error", .text(reason))])
        case .failed(let failure):
            .object([("addresses", .array([])), ("error", .text(failure.message))])
        }
    }

    private static func json(_ answer: Comparison.SystemAnswer) -> JSONValue {
        switch answer {
        case .addresses(let addresses):
            .object([("addresses", .array(addresses.map { .text("\($0)") })), ("error", .null)])
        case .nothing(let reason), .failed(let reason):
            .object([("addresses", .array([])), ("error", .text(reason))])
        }
    }

    private static func json(_ proof: Comparison.Proof, of endpoint: HTTPDNSEndpoint, port: UInt16) -> JSONValue {
        let (result, reason, seconds): (String, String?, Duration?) =
            switch proof {
            case .verified(let duration): ("verified", nil, duration)
            case .refused(let reason): ("refused", reason, nil)
            case .unreachable(let reason): ("unreachable", reason, nil)
            }
        return .object([
            ("address", .text(EndpointText.text(endpoint, urlPort: port))),
            ("result", .text(result)),
            ("reason", .optional(reason)),
            ("seconds", .seconds(seconds)),
        ])
    }
}
