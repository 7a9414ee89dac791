// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

/// The words of `resolve` in any order, as dig takes them: hosts, record types, DoH services and `+short`.
struct ResolveWords: Sendable {
    /// A record type that can be queried.
    enum RecordType: String, CaseIterable, Sendable { case a = "A", aaaa = "AAAA", https = "HTTPS" }

    /// Record types that dig knows and providers of this program do not answer.
    private static let otherTypes: Set<String> = [
        "ANY", "AXFR", "CAA", "CNAME", "DNSKEY", "DS", "IXFR", "MX", "NAPTR", "NS", "PTR", "RRSIG", "SOA", "SRV",
        "SSHFP",
        "SVCB", "TLSA", "TXT",
    ]

    /// The record types that can be queried, by their numbers (RFC 3597 section 5).
    private static let numberedTypes: [String: RecordType] = ["TYPE1": .a, "TYPE28": .aaaa, "TYPE65": .https]

    private(set) var hosts: [HostArgument] = []
    private(set) var dohURLs: [String] = []
    /// The given record types; empty when none is given.
    private(set) var types: Set<RecordType> = []
    /// Whether addresses and record data are printed alone.
    private(set) var isShort = false

    /// - Parameter types: The values of `-t`.
    init(_ words: [String], types: [String]) throws(CommandFailure) {
        for type in types {
            guard try add(type: type) else {
                throw .usage("-t \"\(PrintableText.line(type))\" is not a record type", hint: Self.typesHint)
            }
        }
        for word in words {
            if word.hasPrefix("@") {
                dohURLs.append(try Self.serviceURL(word))
            } else if word.hasPrefix("+") {
                try add(display: word)
            } else if try !add(type: word), word.uppercased() != "IN" {
                hosts.append(try HostArgument(word))
            }
        }
        guard hosts.isEmpty else { return }
        throw .usage(
            "no host is given",
            hint:
                "resolve-test resolve HOST...; a word such as A is a record type, and a host of that name is written \"a.\""
        )
    }

    /// The families of the address types; nil when no type is given.
    var families: HTTPDNSAddress.Families? {
        guard !types.isEmpty else { return nil }
        var families: HTTPDNSAddress.Families = []
        if types.contains(.a) { families.insert(.v4) }
        if types.contains(.aaaa) { families.insert(.v6) }
        return families
    }

    private static let typesHint =
        "HTTP-DNS services are asked for A, AAAA and HTTPS; dig @SERVER NAME TYPE asks a DNS server for others"

    /// Returns whether the word is a record type, in any case of letters.
    private mutating func add(type word: String) throws(CommandFailure) -> Bool {
        let name = word.uppercased()
        if let type = RecordType(rawValue: name) ?? Self.numberedTypes[name] {
            types.insert(type)
            return true
        }
        let isNumbered = name.hasPrefix("TYPE") && name.count > 4 && name.dropFirst(4).allSatisfy(\.isNumber)
        guard Self.otherTypes.contains(name) || isNumbered else { return false }
        throw .usage("records of type \(name) cannot be queried", hint: Self.typesHint)
    }

    private mutating func add(display word: String) throws(CommandFailure) {
        guard word == "+short" else {
            throw .usage(
                "\(PrintableText.line(word)) is an option of dig that resolve-test does not have",
                hint:
                    "+short prints addresses alone, --json all that is known; options are in resolve-test resolve --help"
            )
        }
        isShort = true
    }

    /// Returns the URL of `@https://doh.example/dns-query`, `@1.1.1.1` or `@doh.example`.
    private static func serviceURL(_ word: String) throws(CommandFailure) -> String {
        let text = String(word.dropFirst())
        guard !text.isEmpty else {
            throw .usage("@ has no service", hint: "write @URL, such as @https://1.1.1.1/dns-query")
        }
        // It is not repeated, because it contains a password.
        guard !text.contains("@") else {
            throw .usage("@SERVICE has user information", hint: "write @URL without a user and a password")
        }
        guard !text.contains("://") else { return text }
        let authority = HTTPDNSAddress(text).map(\.bracketed) ?? text
        return "https://\(authority)/dns-query"
    }
}
#endif
