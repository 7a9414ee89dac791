internal import HTTPDNSPrimitives

/// The text form of address blocks in the file.
enum AddressBlockText {
    /// Parses CIDR notation or a bare address.
    static func parse(_ text: String) throws(ValueMistake) -> HTTPDNSAddressBlock {
        if let block = HTTPDNSAddressBlock(text) { return block }
        let allowed = "allowed: CIDR such as 10.0.0.0/8 or \"fd00::/8\", or an address"
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, let address = HTTPDNSAddress(String(parts[0])), let length = Int(parts[1]),
            let block = HTTPDNSAddressBlock(address, prefixLength: length)
        {
            throw ValueMistake(
                "\(quoted(text)) has bits set behind the prefix; \(allowed)",
                hint: "did you mean \(block)?"
            )
        }
        throw ValueMistake("\(quoted(text)) is not a block of addresses; \(allowed)")
    }

    /// Parses the client network of queries (RFC 7871). A bare address is refused: it would identify one machine.
    static func parseSubnet(_ text: String) throws(ValueMistake) -> HTTPDNSAddressBlock {
        let block = try parse(text)
        guard !text.contains("/") else { return block }
        // RFC 7871 section 11.1 recommends these as maximum.
        let length = block.address.family == .v4 ? 24 : 56
        throw ValueMistake(
            "\(quoted(text)) is one machine; allowed: a network in CIDR such as 203.0.113.0/24 or \"2001:db8::/56\"",
            hint: HTTPDNSAddressBlock(block.address, prefixLength: length).map { "did you mean \($0)?" }
        )
    }
}
