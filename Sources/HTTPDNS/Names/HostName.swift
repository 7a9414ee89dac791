/// A validated, canonical DNS name: lower-case A-labels, no trailing dot. This initializer is the only place that
/// normalizes a name.
public struct HostName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The canonical text.
    public let description: String

    /// Reads a name in any spelling: case, one trailing dot, letters outside ASCII (RFC 5891).
    /// - Throws: ``HostNameError`` for empty labels, labels over 63 bytes, names over 253, all-numeric last labels,
    ///   forbidden characters.
    public init(_ text: String) throws(HostNameError) {
        fatalError("seam")
    }

    /// Orders names by their bytes.
    public static func < (left: HostName, right: HostName) -> Bool { left.description < right.description }

    /// Whether the name has no dot.
    public var isSingleLabel: Bool { !description.utf8.contains(UInt8(ascii: ".")) }

    /// Whether the name is `localhost` or below it (RFC 6761 section 6.3).
    public var isLocalhost: Bool { fatalError("seam") }

    /// Whether the name belongs to the inside of a network and goes to no provider unless a route names it exactly:
    /// single labels, `.local`, `.internal`, `home.arpa`, `.svc.cluster.local`.
    public var isInternal: Bool { fatalError("seam") }

    /// Whether the name lies below `suffix`; a name is not below itself.
    public func isBelow(_ suffix: HostName) -> Bool { fatalError("seam") }
}

/// Why a text is no host name.
public struct HostNameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name as it was given, cut to 80 characters, control characters escaped.
    public let text: String
    /// What is wrong and what is allowed.
    public let reason: String

    /// One line with both.
    public var description: String { "\"\(text)\" is not a host name: \(reason)" }
}
