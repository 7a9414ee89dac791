/// Text that came over the network, as it may stand in a one-line message.
enum ForeignText {
    /// The text with everything but printable ASCII replaced by `?`, cut to `limit` characters.
    static func excerpt(_ text: String, limit: Int = 80) -> String {
        var octets: [UInt8] = []
        for scalar in text.unicodeScalars {
            guard octets.count < limit else { return String(decoding: octets, as: UTF8.self) + "..." }
            octets.append((0x20...0x7e).contains(scalar.value) ? UInt8(scalar.value) : UInt8(ascii: "?"))
        }
        return String(decoding: octets, as: UTF8.self)
    }
}
