internal import HTTPDNSPrimitives

extension HTTPDNSTransfer.EndpointRecord {
    init(_ key: EndpointHealth.Key, _ entry: EndpointHealth.Entry) {
        let state: State =
            switch entry.standing {
            case .healthy: .healthy
            case .suspect: .suspect
            case .ejected: .ejected
            case .cooling: .cooling
            }
        self.init(
            endpoint: key.endpoint,
            host: HTTPDNSTransfer.EndpointRecord.text(key.host),
            state: state,
            failuresInARow: entry.failuresInARow,
            until: entry.standing == .healthy ? nil : entry.until,
            connectedAt: entry.connectedAt,
            connectTime: entry.connectTime
        )
    }

    /// Creates the record of an ejected endpoint.
    init(_ key: EndpointHealth.Key, ejectedUntil end: MonotonicTime, failures: Int) {
        self.init(
            endpoint: key.endpoint,
            host: HTTPDNSTransfer.EndpointRecord.text(key.host),
            state: .ejected,
            failuresInARow: failures,
            until: end
        )
    }

    private static func text(_ host: ParsedURL.Host?) -> String? {
        switch host {
        case .name(let name): name
        case .address(let address): address.description
        case nil: nil
        }
    }
}
