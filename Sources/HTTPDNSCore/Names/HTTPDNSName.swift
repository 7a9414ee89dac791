// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPDNSPrimitives

/// A validated, canonical DNS name: lower-case A-labels, no trailing dot.
///
/// Its initializer is the only code that normalizes a name.
public struct HTTPDNSName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The canonical text.
    public let description: String
    /// A hash of the text, computed with it: a request looks its name up in several tables.
    package let nameHash: UInt64
    /// Whether the text had a trailing dot.
    ///
    /// The system resolver then gets the name with the dot, so that no search list of `resolv.conf` applies. It makes no other
    /// difference: names are equal with and without.
    package let isAbsolute: Bool

    /// The canonical text, with the trailing dot if the name was written with one: a name that is parsed again from it
    /// has the same addresses.
    package var queryText: String { isAbsolute ? "\(description)." : description }

    /// Parses a name in any spelling: case, one trailing dot, letters outside ASCII (RFC 5891).
    ///
    /// Labels may have letters, digits, underscores and hyphens, at their edges too: RFC 1123 section 2.1 forbids these, but
    /// such names exist, and DNS, curl and browsers accept them. Labels that begin with `xn--` are kept, in lower case. A name that programs could read as an address is refused, also when it becomes one only
    /// through the mapping of full-width digits and dots.
    /// - Throws: ``HTTPDNSName/Error`` for empty labels, labels over 63 bytes, names over 253, all-numeric last labels,
    ///   forbidden characters.
    public init(_ text: String) throws(HTTPDNSName.Error) {
        try self.init(text, toASCII: InternationalName.toASCII)
    }

    /// Parses a name as ``init(_:)`` does, with a given mapping of letters outside ASCII.
    package init(_ text: String, toASCII: (String) -> String?) throws(HTTPDNSName.Error) {
        var contiguous = text
        let (scan, hash) = contiguous.withUTF8 { (HostNameScan($0), NameHash.hash($0)) }
        switch scan {
        case .canonical:
            self.init(canonical: contiguous, hash: hash)
        case .normalizable(let dropsDot):
            self.init(
                canonical: (dropsDot ? contiguous.dropLast() : contiguous[...]).lowercased(),
                isAbsolute: dropsDot
            )
        case .fault(let reason):
            throw HTTPDNSName.Error(text: text, reason: reason)
        case .international:
            let (mapped, isAbsolute) = try HTTPDNSName.mapped(contiguous, toASCII: toASCII)
            self.init(canonical: mapped, isAbsolute: isAbsolute)
        }
    }

    /// Creates a name from text that is canonical and that nothing else can be read from: no address, suffix or port. Nil for
    /// all other text.
    package init?(plain text: String) {
        var contiguous = text
        let hash = contiguous.withUTF8 { HostNameScan.isPlain($0) ? NameHash.hash($0) : nil }
        guard let hash else { return nil }
        self.init(canonical: contiguous, hash: hash)
    }

    /// Maps a name to A-labels. The result is as untrusted as the text: the mapping may add slashes, dots and digits.
    private static func mapped(
        _ text: String,
        toASCII: (String) -> String?
    ) throws(HTTPDNSName.Error) -> (String, isAbsolute: Bool) {
        let hasDot = text.utf8.last == UInt8(ascii: ".")
        guard var ascii = toASCII(hasDot ? String(text.unicodeScalars.dropLast()) : text) else {
            throw HTTPDNSName.Error(
                text: text,
                reason: "it has characters that no internationalized name may have (RFC 5891)"
            )
        }
        switch ascii.withUTF8({ HostNameScan($0) }) {
        case .canonical:
            return (ascii, hasDot)
        case .normalizable(let dropsDot) where !(dropsDot && hasDot):
            return ((dropsDot ? ascii.dropLast() : ascii[...]).lowercased(), hasDot || dropsDot)
        case .normalizable:
            throw HTTPDNSName.Error(text: text, reason: "it ends with two dots, and one is allowed")
        case .international:
            throw HTTPDNSName.Error(
                text: text,
                reason: "it has characters that no internationalized name may have (RFC 5891)"
            )
        case .fault(let reason):
            throw HTTPDNSName.Error(
                text: text,
                reason: "as A-labels it is \"\(ascii.escaped(limit: 80))\", and \(reason)"
            )
        }
    }

    /// Creates a name from text that is known to be canonical: the text of another name, a part of it, or a constant.
    package init(canonical text: String, isAbsolute: Bool = false) {
        var text = text
        self.init(canonical: text, hash: text.withUTF8(NameHash.hash), isAbsolute: isAbsolute)
    }

    /// Creates a name as ``init(canonical:)`` does, with the known ``nameHash`` of the text.
    package init(canonical text: String, hash: UInt64, isAbsolute: Bool = false) {
        description = text
        nameHash = hash
        self.isAbsolute = isAbsolute
    }

    /// Returns whether the names are equal.
    public static func == (left: HTTPDNSName, right: HTTPDNSName) -> Bool {
        left.nameHash == right.nameHash && left.description == right.description
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(nameHash) }

    /// Calls `body` with the bytes of the name, without retaining them where that is possible.
    @inline(__always)
    func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = description.utf8.withContiguousStorageIfAvailable(body) { return result }
        var text = description
        return text.withUTF8(body)
    }

    /// Orders names by their bytes.
    public static func < (left: HTTPDNSName, right: HTTPDNSName) -> Bool { left.description < right.description }

    /// Whether the name has no dot.
    public var isSingleLabel: Bool { !description.utf8.contains(UInt8(ascii: ".")) }

    /// Whether the name is `localhost` or below it (RFC 6761 section 6.3).
    public var isLocalhost: Bool {
        // Every query is checked here: most names end with another letter.
        guard description.utf8.last == UInt8(ascii: "t") else { return false }
        return self == .localhost || isBelow(.localhost)
    }

    /// The reason that mappings and routes may not name it; nil when they may.
    package var refusalOfRules: String? {
        guard isLocalhost else { return nil }
        return "localhost and the names below it are always this machine's loopback addresses (RFC 6761 section 6.3), "
            + "so it would never apply"
    }

    /// Whether the name belongs to an internal network: single labels, `.local` (RFC 6762; `.svc.cluster.local` is part of it),
    /// `.internal`, `home.arpa` (RFC 8375).
    ///
    /// An internal name is sent to no provider unless a route names it exactly.
    public var isInternal: Bool { isSingleLabel || coversOnlyInternalNames }

    /// Whether every name below this one is internal.
    var coversOnlyInternalNames: Bool { HTTPDNSName.internalZones.contains { self == $0 || isBelow($0) } }

    /// Whether the name is that of a service, `_service._protocol.name` (RFC 2782): SRV records have its servers.
    package var isService: Bool {
        let text = description
        guard text.utf8.first == UInt8(ascii: "_"), let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")) else {
            return false
        }
        return text[dot...].hasPrefix("._")
    }

    /// Returns whether the name lies below `suffix`; a name is not below itself.
    public func isBelow(_ suffix: HTTPDNSName) -> Bool {
        // Compares the bytes directly: every query is checked here several times, and most names differ in the last byte.
        let answer = description.utf8.withContiguousStorageIfAvailable { name in
            suffix.description.utf8.withContiguousStorageIfAvailable { tail in
                guard name.count > tail.count, name.last == tail.last else { return false }
                let start = name.count - tail.count
                return name[start - 1] == UInt8(ascii: ".") && name[start...].elementsEqual(tail)
            }
        }
        return (answer ?? nil) ?? description.hasSuffix(".\(suffix)")
    }

    /// Whether such names are outside the DNS by definition: `.onion` (RFC 7686), `.invalid` (RFC 6761 section 6.4), `.alt`
    /// (RFC 9476).
    var isOutsideDNS: Bool { HTTPDNSName.zonesOutsideDNS.contains { self == $0 || isBelow($0) } }

    package static let localhost = HTTPDNSName(canonical: "localhost")

    private static let zonesOutsideDNS = ["onion", "invalid", "alt"].map { HTTPDNSName(canonical: $0) }

    private static let internalZones = ["local", "internal", "home.arpa"].map { HTTPDNSName(canonical: $0) }
}

extension HTTPDNSName {
    /// An error in the text of a host name.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The name as it was given, cut to 80 characters, control characters escaped.
        public let text: String
        /// The mistake, and the characters or lengths that are allowed.
        public let reason: String

        /// Creates an error with the beginning of `text`, at most one line: the text may be untrusted.
        package init(text: String, reason: String) {
            self.text = text.escaped(limit: 80)
            self.reason = reason
        }

        /// One line with text and reason.
        public var description: String { "\"\(text)\" is not a host name: \(reason)" }
    }
}

/// The host of a URL: a name or an address literal.
public enum HTTPDNSHost: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name.
    case name(HTTPDNSName)
    /// An address literal, which needs no lookup.
    case address(HTTPDNSAddress)

    /// Parses a name in any spelling (``HTTPDNSName/init(_:)``), or an address; an IPv6 address may have brackets.
    /// - Throws: ``HTTPDNSName/Error``.
    public init(_ text: String) throws(HTTPDNSName.Error) {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let inner = isBracketed ? String(text.dropFirst().dropLast()) : text
        self = if let address = HTTPDNSAddress(inner) { .address(address) } else { .name(try HTTPDNSName(text)) }
    }

    /// The canonical text; an IPv6 address has no brackets.
    public var description: String {
        switch self {
        case .name(let name): name.description
        case .address(let address): address.description
        }
    }

    /// The canonical text, with the trailing dot if the name was written with one.
    package var queryText: String {
        switch self {
        case .name(let name): name.queryText
        case .address(let address): address.description
        }
    }
}

/// The hash of a name, computed once when the name is parsed: its high bits select the shard, its low bits the position.
///
/// It folds eight bytes at a time with a 64 x 64 multiplication. Its keys are random in each process, so that an attacker who
/// chooses names cannot choose their positions.
package enum NameHash {
    private static let start = UInt64.random(in: .min ... .max)
    private static let multiplier = UInt64.random(in: .min ... .max) | 1

    /// Returns the hash of a name together with the other parts of a key.
    static func hash(_ name: HTTPDNSName, salt: UInt64) -> UInt64 {
        salt == 0 ? name.nameHash : fold(name.nameHash ^ salt, multiplier)
    }

    package static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let multiplier = multiplier
        let start = start
        var state = start ^ UInt64(truncatingIfNeeded: bytes.count)
        let raw = UnsafeRawBufferPointer(bytes)
        var offset = 0
        while offset + 8 <= raw.count {
            state = fold(state ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self), multiplier)
            offset += 8
        }
        var tail: UInt64 = 0
        while offset < raw.count {
            tail = tail << 8 | UInt64(raw[offset])
            offset += 1
        }
        state = fold(state ^ tail, multiplier)
        return fold(state, multiplier ^ start)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
