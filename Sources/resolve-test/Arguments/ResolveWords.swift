// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSMessages

/// The words of `resolve` in any order, as dig takes them: hosts, record types, DoH services, a server and `+short`.
struct ResolveWords: Sendable {
    /// Record types that dig knows by name and this program does not.
    private static let otherTypes: Set<String> = [
        "ANY", "AXFR", "DNSKEY", "DS", "IXFR", "NAPTR", "RRSIG", "SSHFP", "TLSA",
    ]

    private(set) var hosts: [HostArgument] = []
    private(set) var dohURLs: [String] = []
    /// The given record types; empty when none is given.
    private(set) var types: Set<DNSRecordType> = []
    /// The server that is asked in place of the client's resolver, if it is given.
    private(set) var server = ServerArgument()
    /// Whether addresses and record data are printed alone.
    private(set) var isShort = false

    /// - Parameters:
    ///   - types: The values of `-t`.
    ///   - port: The value of `-p`.
    init(_ words: [String], types: [String], port: UInt16? = nil) throws(CommandFailure) {
        for type in types {
            guard try add(type: type) else {
                throw .usage("-t \"\(PrintableText.line(type))\" is not a record type", hint: Self.typesHint)
            }
        }
        for word in words {
            if word.hasPrefix("@") {
                try add(service: word.dropFirst())
            } else if word == "+short" {
                isShort = true
            } else if word.hasPrefix("+") {
                guard try server.set(word: word) else { throw Self.unknown(word) }
            } else if try !add(type: word), word.uppercased() != "IN" {
                hosts.append(try HostArgument(word))
            }
        }
        try server.finish(port: port)
        guard !hosts.isEmpty else {
            throw .usage(
                "no host is given",
                hint:
                    "resolve-test resolve HOST...; a word such as A is a record type, and a host of that name is written \"a.\""
            )
        }
        try checkPorts()
    }

    /// The families of the address types; nil when no type is given.
    var families: HTTPDNSAddress.Families? {
        guard !types.isEmpty else { return nil }
        var families: HTTPDNSAddress.Families = []
        if types.contains(.a) { families.insert(.v4) }
        if types.contains(.aaaa) { families.insert(.v6) }
        return families
    }

    /// The types of the records that are shown as servers send them, in the order of their numbers: all for a server that is
    /// asked alone, A if none is given as for dig; else all but addresses.
    func recordTypes(_ family: FamilyChoice?) -> [DNSRecordType] {
        let addresses: Set<DNSRecordType> = [.a, .aaaa]
        guard server.isGiven else { return types.subtracting(addresses).sorted { $0.number < $1.number } }
        guard types.isEmpty else { return types.sorted { $0.number < $1.number } }
        return family == .v6 ? [.aaaa] : family == .both ? [.a, .aaaa] : [.a]
    }

    /// A port selects a mapping, or is part of the name of HTTPS records.
    private func checkPorts() throws(CommandFailure) {
        guard let host = hosts.first(where: { $0.port != 443 }),
            let type = recordTypes(nil).first(where: { $0 != .https })
        else { return }
        throw .usage(
            "\(PrintableText.line(host.text)) has a port, which \(type) records do not have",
            hint: "the port of the server belongs to it: @SERVER:PORT"
        )
    }

    private static let typesHint =
        "A, AAAA, CAA, CNAME, HTTPS, MX, NS, PTR, SOA, SRV, SVCB, TXT; others by number, such as TYPE48, in hexadecimal"

    /// Returns whether the word is a record type, in any case of letters.
    private mutating func add(type word: String) throws(CommandFailure) -> Bool {
        if let type = DNSRecordType(word), Self.holdsData(type) {
            types.insert(type)
            return true
        }
        let name = word.uppercased()
        let isNumbered = name.hasPrefix("TYPE") && name.count > 4 && name.dropFirst(4).allSatisfy(\.isNumber)
        guard Self.otherTypes.contains(name) || isNumbered else { return false }
        throw .usage("records of type \(name) cannot be queried", hint: Self.typesHint)
    }

    /// Returns whether records have the type, which is not one of questions or of the protocol alone (RFC 6895 section 3.1).
    private static func holdsData(_ type: DNSRecordType) -> Bool {
        type.number > 0 && type != .opt && !(128...255).contains(type.number)
    }

    private static func unknown(_ word: String) -> CommandFailure {
        .usage(
            "\(PrintableText.line(word)) is an option of dig that resolve-test does not have",
            hint: "+short, +tcp, +tls, +https and +time are there; --json prints all that is known; see resolve --help"
        )
    }

    /// Adds `@https://doh.example/dns-query`, or a server.
    private mutating func add(service text: Substring) throws(CommandFailure) {
        guard !text.isEmpty else {
            throw .usage("@ has no server", hint: "write @ADDRESS, or @URL such as @https://1.1.1.1/dns-query")
        }
        // It is not repeated, because it contains a password.
        guard !text.contains("@") else {
            throw .usage("@SERVER has user information", hint: "write it without a user and a password")
        }
        guard !text.contains("://") else { return dohURLs.append(String(text)) }
        try server.set(server: text)
    }
}
#endif
