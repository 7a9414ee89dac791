// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The text form of the keys of routes and mappings: names, suffixes, `*`, and ports.
package enum HostKeyText {
    /// Parses the key of a route: `name`, `*.suffix` or `*`.
    static func parseRoute(_ text: String) throws(ValueMistake) -> HTTPDNSRoute.Pattern {
        if text == "*" { return .any }
        let key = try parse(text)
        guard key.port == nil else {
            throw ValueMistake(
                "\(quoted(text)) has a port; a route is for a name on all ports",
                hint: "write \(key.pattern); only mappings tell ports apart"
            )
        }
        return key.pattern
    }

    /// Parses the key of a mapping: `name` or `*.suffix`, either with a port.
    package static func parseMapping(_ text: String) throws(ValueMistake) -> HTTPDNSMapping.Key {
        guard text != "*" else {
            throw ValueMistake(
                "\"*\" is for routes only; allowed in mappings: a name, *.suffix, either with :port",
                hint: "a mapping for every name would send them all to one server"
            )
        }
        return try parse(text)
    }

    /// Parses one name, where neither suffix nor port nor address is allowed.
    /// - Parameter addressHint: The hint for an address.
    static func parseName(
        _ text: String,
        addressHint: String = "an address stands alone, without via"
    ) throws(ValueMistake) -> HTTPDNSName {
        let allowed = "allowed: one name, without * and port"
        guard !TargetText.isAddress(text) else {
            throw ValueMistake("\(quoted(text)) is an address; \(allowed)", hint: addressHint)
        }
        let key = try parse(text)
        guard case .exact(let name) = key.pattern else { throw ValueMistake("\(quoted(text)) is a suffix; \(allowed)") }
        guard key.port == nil else {
            throw ValueMistake("\(quoted(text)) has a port; \(allowed)", hint: "write \(name)")
        }
        return name
    }

    private static func parse(_ text: String) throws(ValueMistake) -> HTTPDNSMapping.Key {
        // Nearly all keys: neither address nor suffix, and without a port.
        if let name = HTTPDNSName(plain: text) { return HTTPDNSMapping.Key(.exact(name)) }
        guard !text.isEmpty else { throw ValueMistake("a name is missing; allowed: a name or *.suffix") }
        if text.utf8.contains(UInt8(ascii: "/")) {
            let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
            let authority = rest.prefix { $0 != "/" }
            throw ValueMistake(
                "\(quoted(text)) is a URL or path; allowed: a name or *.suffix",
                hint: authority.isEmpty || authority.contains("@") ? "write the name alone" : "write \(authority)"
            )
        }
        if TargetText.isAddress(text) {
            throw ValueMistake(
                "\(quoted(text)) is an address, which requests connect to as it is: no rule here can apply to it",
                hint: "the key is the name in the URL"
            )
        }
        var name = text[...]
        var port: UInt16?
        if let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) {
            name = text[..<colon]
            port = try PortText.parse(text[text.index(after: colon)...], of: text)
        }
        let isSuffix = name.hasPrefix("*.")
        if isSuffix { name = name.dropFirst(2) }
        if let star = name.utf8.firstIndex(of: UInt8(ascii: "*")) {
            let bare = name[name.index(after: star)...]
            let proposal = star == name.startIndex && !isSuffix && !bare.isEmpty && !bare.contains("*") ? bare : nil
            throw ValueMistake(
                "\(quoted(text)): * stands only at the front and for whole labels; allowed: a name or *.suffix",
                hint: proposal.map { "did you mean \"*.\($0)\"?" }
            )
        }
        if !isSuffix, name.hasPrefix("."), name.count > 1 {
            throw ValueMistake(
                "\(quoted(text)) begins with a dot; allowed: a name or *.suffix",
                hint: "did you mean \"*\(name)\"?"
            )
        }
        do {
            let host = try HTTPDNSName(String(name))
            return HTTPDNSMapping.Key(isSuffix ? .suffix(host) : .exact(host), port: port)
        } catch {
            throw ValueMistake("\(quoted(text)) is not a host name: \(error.reason)")
        }
    }
}
