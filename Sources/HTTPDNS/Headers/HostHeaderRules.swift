internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes

/// ``HTTPDNSClient/Configuration/DefaultHeaders``, laid out to be looked up for each hop.
struct HostHeaderRules: Hashable, Sendable {
    private let fields: HTTPFields
    private let byHost: HostTable<HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders>

    /// - Returns: nil where there is nothing to add.
    init?(_ headers: HTTPDNSClient.Configuration.DefaultHeaders) {
        guard !headers.isEmpty else { return nil }
        fields = headers.fields
        byHost = HostTable(headers.byHost)
    }

    /// What a host is given.
    /// - Parameter isLeftOut: Fields for every host that this one must not see.
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
