// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The text form of addresses in the file, with or without a port.
package enum TargetText {
    /// Parses `203.0.113.7`, `2001:db8::7`, `[2001:db8::7]`, and with a port `203.0.113.7:8443`, `[2001:db8::7]:8443`.
    package static func parse(_ text: String) throws(ValueMistake) -> HTTPDNSMapping.Target {
        try parse(text, isMapping: true)
    }

    /// Parses the same forms for a server.
    /// - Parameter port: The port where the text has none.
    static func parseServer(_ text: String, port: UInt16) throws(ValueMistake) -> HTTPDNSEndpoint {
        let target = try parse(text, isMapping: false)
        return HTTPDNSEndpoint(address: target.address, port: target.port ?? port)
    }

    private static func parse(_ text: String, isMapping: Bool) throws(ValueMistake) -> HTTPDNSMapping.Target {
        let (host, port) = split(text)
        guard let address = address(host) else { throw mistake(in: text, allowed: allowed, isMapping: isMapping) }
        guard let port else { return HTTPDNSMapping.Target(address) }
        return HTTPDNSMapping.Target(address, port: try PortText.parse(port, of: text))
    }

    /// Returns the target of an IPv4 address without a port; nil for all other text.
    package static func plainTarget(_ text: String) -> HTTPDNSMapping.Target? {
        guard let first = text.utf8.first, first.isDigit,
            !text.utf8.contains(UInt8(ascii: ":"))
        else { return nil }
        return HTTPDNSAddress(text).map { HTTPDNSMapping.Target($0) }
    }

    /// Returns whether the text is an address, with any port.
    package static func isAddress(_ text: String) -> Bool { address(split(text).host) != nil }

    /// Parses an address where no port is allowed.
    static func parseAddress(_ text: String) throws(ValueMistake) -> HTTPDNSAddress {
        let (host, port) = split(text)
        guard let address = address(host) else {
            throw mistake(
                in: text,
                allowed: "allowed: IPv4 such as 192.0.2.53, IPv6 such as \"2001:db8::53\"",
                isMapping: false
            )
        }
        guard port == nil else {
            throw ValueMistake("\(quoted(text)) has a port; allowed here: an address alone", hint: "write \(address)")
        }
        return address
    }

    /// Splits at the colon before the port: the one after `]`, or else the only one.
    private static func split(_ text: String) -> (host: Substring, port: Substring?) {
        let separator = UInt8(ascii: ":")
        guard let colon = text.utf8.lastIndex(of: separator),
            text.hasPrefix("[") ? text[..<colon].hasSuffix("]") : text.utf8.firstIndex(of: separator) == colon
        else { return (text[...], nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    private static func address(_ text: Substring) -> HTTPDNSAddress? {
        guard text.hasPrefix("["), text.hasSuffix("]") else { return HTTPDNSAddress(String(text)) }
        guard let address = HTTPDNSAddress(String(text.dropFirst().dropLast())), address.family == .v6 else {
            return nil
        }
        return address
    }

    private static let allowed =
        "allowed: IPv4 such as 203.0.113.7, IPv6 such as \"2001:db8::7\", either with a port"

    private static func mistake(in text: String, allowed: String, isMapping: Bool) -> ValueMistake {
        let what = "\(quoted(text)) is not an address"
        let allowsPort = allowed == Self.allowed
        if text.isEmpty { return ValueMistake("an address is missing; \(allowed)") }
        if text.contains("://") {
            return ValueMistake(
                "\(what) but a URL; \(allowed)",
                hint: "write only the address"
            )
        }
        if HTTPDNSAddressBlock(text) != nil || text.contains("/") {
            return ValueMistake("\(what) but a block of addresses; \(allowed)", hint: "name each address")
        }
        if text.contains("%") {
            return ValueMistake("\(what): zones (after %) are not supported; \(allowed)")
        }
        let characters = text.utf8
        let isNumeric = characters.allSatisfy {
            $0 == UInt8(ascii: ".") || $0.isDigit
        }
        if isNumeric {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            if parts.contains(where: { $0.count > 1 && $0.hasPrefix("0") }) {
                return ValueMistake("\(what): parts with leading zeros are read as octal by some programs; \(allowed)")
            }
            return ValueMistake("\(what): IPv4 has four numbers from 0 to 255; \(allowed)")
        }
        if characters.contains(UInt8(ascii: ":")) || text.hasPrefix("[") {
            return ValueMistake(
                "\(what); \(allowed)",
                hint: !allowsPort ? nil : "with a port, IPv6 needs brackets and quotes: \"[2001:db8::7]:8443\""
            )
        }
        if (try? HTTPDNSName(text)) != nil {
            return ValueMistake(
                "\(what) but a name; \(allowed)",
                hint: !isMapping
                    ? "the name cannot be looked up here" : "for another name's addresses write { via: \(text) }"
            )
        }
        return ValueMistake("\(what); \(allowed)")
    }
}

/// The text form of ports in the file.
enum PortText {
    /// Parses 1 to 65535; `text` is the whole value, for the error.
    static func parse(_ digits: Substring, of text: String) throws(ValueMistake) -> UInt16 {
        guard !digits.isEmpty, digits.utf8.count <= 5, !digits.hasPrefix("0"), let port = UInt16(digits: digits) else {
            throw ValueMistake("\(quoted(text)): \(quoted(digits)) is not a port; allowed: 1 to 65535")
        }
        return port
    }
}

/// The text form of address blocks in the file.
enum AddressBlockText {
    /// Parses CIDR notation or a bare address.
    static func parse(_ text: String) throws(ValueMistake) -> HTTPDNSAddressBlock {
        if let block = HTTPDNSAddressBlock(text) { return block }
        let allowed = "allowed: CIDR such as 10.0.0.0/8 or \"fd00::/8\", or an address"
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, let address = HTTPDNSAddress(String(parts[0])), let length = Int(digits: parts[1]),
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
