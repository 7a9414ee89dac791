// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Proxy {
    /// The hosts that are reached without the proxy.
    ///
    /// The rules are curl's (`--noproxy`):
    /// - A name matches itself and all names below it, with or without a leading dot.
    /// - An address or a block of addresses (`10.0.0.0/8`, `2001:db8::/32`) matches addresses in URLs, and never the
    ///   addresses that names resolve to.
    /// - `*` matches everything.
    ///
    /// Beyond curl, a name or address may have a port, `one.example:8443`, and then matches that port alone.
    public struct Exceptions: Hashable, Sendable, CustomStringConvertible {
        fileprivate struct Entry: Hashable {
            enum Place: Hashable {
                case name(String)
                case block(HTTPDNSAddressBlock)
            }

            var place: Place
            var port: UInt16?
        }

        private var entries: [Entry] = []
        private var isEverything = false
        /// The entries of a list in the form of `no_proxy` that match no host.
        private(set) var unusable: [String] = []
        /// The entries as they were written, separated by commas.
        public let description: String

        /// A list without entries.
        public static let none = HTTPDNSClient.Proxy.Exceptions(curl: "")

        /// Creates a list from its entries.
        /// - Throws: ``HTTPDNSClientError`` with code `configuration` for an entry that can never match.
        public init(_ texts: [String]) throws(HTTPDNSClientError) {
            description = texts.joined(separator: ",")
            for text in texts {
                if text == "*" {
                    isEverything = true
                } else if let entry = Entry(text) {
                    entries.append(entry)
                } else {
                    throw .configuration(
                        "\"\(text.escaped(limit: 80))\" is no exception from a proxy",
                        hint:
                            "written are one.example (with all names below it), 192.0.2.1, 10.0.0.0/8, 2001:db8::/32, "
                            + "one.example:8443, or * for everything"
                    )
                }
            }
        }

        /// Parses a list in the form of the variable `no_proxy`, by the rules of curl 7.88. Entries are separated by
        /// commas or blanks, `*` counts only when it is the whole list, and there are no ports. Entries that curl
        /// cannot use are skipped, as in curl. Blocks of IPv6 addresses match, as curl's documentation says; 7.88.1
        /// compares IPv6 addresses like names.
        init(curl text: String) {
            description = text
            isEverything = text == "*"
            if isEverything { return }
            for token in text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
                var name = token[...]
                if name.hasSuffix(".") { name.removeLast() }
                if name.hasPrefix(".") { name.removeFirst() }
                let text = name.lowercased()
                let count = entries.count
                // Hosts are compared in their canonical form.
                if (try? HTTPDNSName(text))?.description == text { entries.append(Entry(place: .name(text))) }
                defer { if entries.count == count { unusable.append(String(token)) } }
                let parts = token.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
                guard let address = HTTPDNSAddress(String(parts[0])) else { continue }
                // curl reads leading digits only (atoi), and treats 0 as all bits.
                let bits = parts.count > 1 ? Int(parts[1].prefix { $0.isASCII && $0.isNumber }) ?? 0 : 0
                let all = address.family == .v4 ? 32 : 128
                if let block = HTTPDNSAddressBlock(address, prefixLength: bits == 0 ? all : bits) {
                    entries.append(Entry(place: .block(block)))
                }
            }
        }

        /// Whether a URL's host matches an entry.
        func contains(_ host: HTTPDNSHost, port: UInt16) -> Bool {
            if isEverything { return true }
            return entries.contains { entry in
                guard entry.port == nil || entry.port == port else { return false }
                switch (entry.place, host) {
                case (.name(let suffix), .name(let name)):
                    let name = name.description
                    return name == suffix
                        || name.utf8.count > suffix.utf8.count && name.hasSuffix(suffix)
                            && name.utf8[name.utf8.index(name.utf8.endIndex, offsetBy: -suffix.utf8.count - 1)]
                                == UInt8(ascii: ".")
                case (.block(let block), .address(let address)): return block.contains(address)
                default: return false
                }
            }
        }
    }
}

extension HTTPDNSClient.Proxy.Exceptions.Entry {
    fileprivate init?(_ text: String) {
        if let block = HTTPDNSAddressBlock(text) {
            self.init(place: .block(block))
            return
        }
        if let parsed = try? AddressText(text), let block = HTTPDNSAddressBlock("\(parsed.address)") {
            self.init(place: .block(block), port: parsed.port)
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].hasPrefix(".") ? parts[0].dropFirst() : parts[0]
        guard let host = try? HTTPDNSName(String(name)) else { return nil }
        guard parts.count == 2 else {
            self.init(place: .name(host.description))
            return
        }
        guard let port = UInt16(digits: parts[1]), port > 0 else { return nil }
        self.init(place: .name(host.description), port: port)
    }
}
