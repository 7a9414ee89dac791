// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// An address with an optional port, as mappings and the addresses of a request write it: `203.0.113.7`,
/// `203.0.113.7:8443`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:8443`.
package struct AddressText: Hashable, Sendable {
    package var address: HTTPDNSAddress
    /// The port to dial; nil means the port of the URL.
    package var port: UInt16?

    /// - Throws: ``AddressTextError`` with the text, the mistake and the allowed forms.
    package init(_ text: String) throws(AddressTextError) {
        if let address = HTTPDNSAddress(text) {
            self.address = address
            return
        }
        guard let (addressText, portText) = AddressText.split(text), let address = HTTPDNSAddress(String(addressText))
        else {
            throw AddressTextError(text: text, reason: AddressText.fault(in: text))
        }
        self.address = address
        guard let portText else { return }
        guard let port = PortNumber.read(portText) else {
            throw AddressTextError(text: text, reason: "its port is not a number from 1 to 65535")
        }
        self.port = port
    }

    /// Splits a text that is more than an address into address and port.
    ///
    /// An unbracketed IPv6 address with a port is refused, because it is ambiguous.
    private static func split(_ text: String) -> (Substring, Substring?)? {
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            let inside = text[text.index(after: text.startIndex)..<bracket]
            let rest = text[text.index(after: bracket)...]
            guard inside.utf8.contains(UInt8(ascii: ":")) else { return nil }
            if rest.isEmpty { return (inside, nil) }
            return rest.hasPrefix(":") ? (inside, rest.dropFirst()) : nil
        }
        guard let colon = text.firstIndex(of: ":"), !text[text.index(after: colon)...].contains(":") else { return nil }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    private static func fault(in text: String) -> String {
        if text.contains("/") { return "it is a block or a URL, and one address is needed" }
        if text.contains("%") { return "zone identifiers are not supported; give the address alone" }
        if text.allSatisfy({ "0123456789xXabcdefABCDEF.".contains($0) }), text.contains(where: \.isNumber) {
            return "IPv4 addresses are four decimal parts from 0 to 255 without leading zeros"
        }
        if (try? HTTPDNSName(text, toASCII: { _ in nil })) != nil {
            return "it is a name; in a configuration file a mapping takes a name's addresses with via"
        }
        return "allowed are 203.0.113.7, 203.0.113.7:8443, 2001:db8::7, [2001:db8::7]:8443"
    }
}

/// An error in the text of an address with an optional port.
package struct AddressTextError: Error, Hashable, Sendable, CustomStringConvertible {
    package var text: String
    package var reason: String

    init(text: String, reason: String) {
        self.text = text.escaped(limit: 80)
        self.reason = reason
    }

    /// One line with text and reason.
    package var description: String { "\"\(text)\" is not an address: \(reason)" }
}

/// A TCP port in text: decimal digits without sign or leading zero, 1 to 65535.
enum PortNumber {
    static func read(_ text: Substring) -> UInt16? {
        text.utf8.first == UInt8(ascii: "0") ? nil : UInt16(digits: text)
    }
}
