internal import HTTPDNSPrimitives

/// The parser for the service's description of itself (`/conf`): `log:1|domain:0|ip:192.0.2.53;192.0.2.54|ttl:60`.
enum TencentServiceList {
    /// The life of a list without a usable time to live. It is the default of the vendor's clients.
    private static let defaultMinutes: Int64 = 60
    private static let allowedMinutes: ClosedRange<Int64> = 1...1440

    /// - Parameters:
    ///   - body: The body, decrypted if it was encrypted.
    ///   - port: The port of the service's URL; the list has none.
    static func read(_ body: [UInt8], port: UInt16) throws(VendorAnswerError) -> ServiceDiscovery {
        let text = try TencentText.text(body)
        var fields: [Substring: Substring] = [:]
        for field in text.split(separator: "|", omittingEmptySubsequences: false) {
            guard let colon = field.firstIndex(of: ":"),
                fields.updateValue(field[field.index(after: colon)...], forKey: field[..<colon]) == nil
            else { throw VendorAnswerError("it is no list of fields with a name each", isText: false) }
        }
        // The last field proves that the others are complete.
        guard let list = fields["ip"], let life = fields["ttl"] else {
            throw VendorAnswerError("it has no field \"ip\" or no \"ttl\": it was cut off, or is something else")
        }
        // The vendor's clients keep only IPv4.
        let addresses = list.split(separator: ";").compactMap { HTTPDNSAddress(String($0)) }.filter { $0.family == .v4 }
        let minutes = TencentText.number(life).flatMap { allowedMinutes.contains($0) ? $0 : nil } ?? defaultMinutes
        return ServiceDiscovery(
            endpoints: addresses.map { HTTPDNSEndpoint(address: $0, port: port) },
            lifetime: .seconds(60 * minutes)
        )
    }
}
