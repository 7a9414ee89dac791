internal import HTTPDNSPrimitives

/// Blocks of addresses as the file writes them.
enum AddressBlockText {
    /// Reads CIDR notation or a bare address.
    static func parse(_ text: String) throws(ValueMistake) -> AddressBlock {
        if let block = AddressBlock(text) { return block }
        let allowed = "allowed: CIDR such as 10.0.0.0/8 or \"fd00::/8\", or an address"
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, let address = IPAddress(String(parts[0])), let length = Int(parts[1]),
            let block = AddressBlock(address, prefixLength: length)
        {
            throw ValueMistake(
                "\(quoted(text)) has bits set behind the prefix; \(allowed)",
                hint: "did you mean \(block)?"
            )
        }
        throw ValueMistake("\(quoted(text)) is not a block of addresses; \(allowed)")
    }
}
