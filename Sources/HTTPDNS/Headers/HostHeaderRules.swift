internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes

/// ``HTTPDNSClient/Configuration/DefaultHeaders``, indexed for the lookup of each hop.
struct HostHeaderRules: Hashable, Sendable {
    private let fields: HTTPFields
    private let byHost: HostTable<HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders>

    /// - Returns: nil when there is nothing to add.
    init?(_ headers: HTTPDNSClient.Configuration.DefaultHeaders) {
        guard !headers.isEmpty else { return nil }
        fields = headers.fields
        byHost = HostTable(headers.byHost)
    }

    /// Returns the fields for a host.
    /// - Parameter isLeftOut: Whether a field for every host must not be sent to this one.
    func fields(for host: ParsedURL.Host, leavingOut isLeftOut: (HTTPField) -> Bool) -> HTTPFields {
        let own = byHost[host]
        var given = HTTPFields()
        for field in fields where !isLeftOut(field) {
            if let own, own.without.contains(field.name) || own.fields.contains(field.name) { continue }
            given.append(field)
        }
        if let own { given.append(contentsOf: own.fields) }
        return given
    }
}
