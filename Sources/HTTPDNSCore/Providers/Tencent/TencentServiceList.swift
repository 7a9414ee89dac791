internal import HTTPDNSPrimitives

/// What the service says about itself (`/conf`): `log:1|domain:0|ip:192.0.2.53;192.0.2.54|ttl:60`.
enum TencentServiceList {
    /// How long a list holds when it does not say so, or not so that it can be: what the vendor's clients take.
    private static let defaultMinutes: Int64 = 60
    private static let allowedMinutes: ClosedRange<Int64> = 1...1440

    /// - Parameters:
    ///   - body: Decrypted, where it was encrypted.
    ///   - port: That of the service's URL; the list has none.
    static func read(_ body: [UInt8], port: UInt16) throws(VendorAnswerError) -> ServiceDiscovery {
        let text = try TencentText.text(body)
        var fields: [Substring: Substring] = [:]
        for field in text.split(separator: "|", omittingEmptySubsequences: false) {
            guard let colon = field.firstIndex(of: ":"),
                fields.updateValue(field[field.index(after: colon)...], forKey: field[..<colon]) == nil
            else { throw VendorAnswerError("it is no list of fields with a name each", isText: false) }
        }
        // The last of the fields says that the others are whole.
        guard let list = fields["ip"], let life = fields["ttl"] else {
            throw VendorAnswerError("it has no field \"ip\" or no \"ttl\": it was cut off, or is something else")
        }
        // The vendor's clients keep IPv4 alone.
        let addresses = list.split(separator: ";").compactMap { HTTPDNSAddress(String($0)) }.filter { $0.family == .v4 }
        let minutes = TencentText.number(life).flatMap { allowedMinutes.contains($0) ? $0 : nil } ?? defaultMinutes
        return ServiceDiscovery(
            endpoints: addresses.map { HTTPDNSEndpoint(address: $0, port: port) },
            lifetime: .seconds(60 * minutes)
        )
    }
}
