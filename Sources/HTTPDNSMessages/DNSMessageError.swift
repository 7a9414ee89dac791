/// The reason why a response message is rejected. The whole message is rejected, whichever part is invalid.
package struct DNSMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The message ends inside a header, name or record, or its counts announce more records than it has octets for.
        case truncated
        /// More than ``DNSWireFormat/maximumMessageOctets``.
        case tooLong
        /// Octets follow the last record.
        case trailingBytes
        /// A label type that no standard uses today (the upper bits 01 or 10).
        case badLabel
        /// A compression pointer that does not point strictly backwards, points into the header, or exceeds the limit of
        /// pointers.
        case badPointer
        /// A name of more than 255 octets.
        case nameTooLong
        /// A record whose data does not have the length that its type requires.
        case badRecordLength
        /// The message is not a response (QR clear), or not for a standard query.
        case notAResponse
        /// The ID differs from the query's, which is 0.
        case wrongID
        /// The TC flag is set, although no message is too long for HTTP.
        case truncationFlag
        /// The question differs from the query's, or there is not exactly one.
        case wrongQuestion
        /// An OPT record that is a duplicate, outside the additional section, or not owned by the root.
        case misplacedOption
        /// The alias chain from the queried name is ambiguous: two different aliases of one name, or an alias with other data
        /// beside it.
        case ambiguousAlias
        /// The alias chain returns to an earlier name.
        case aliasLoop
        /// The alias chain has more hops than ``DNSResponse/maximumAliasHops``.
        case aliasChainTooLong
        /// NXDOMAIN, with records for the very name that does not exist.
        case contradiction
        /// A record of type SVCB or HTTPS whose parameters violate RFC 9460. It invalidates the records beside it, but not the
        /// message.
        case badService
        /// The client subnet option differs from the query's, or violates the form of RFC 7871 section 6.
        case wrongClientSubnet
    }

    package var code: Code
    /// The offset in the message, in octets; `nil` for errors of the message as a whole.
    package var offset: Int?
    /// The finding and the allowed form.
    package var reason: String

    package init(_ code: Code, at offset: Int? = nil, _ reason: String) {
        self.code = code
        self.offset = offset
        self.reason = reason
    }

    package var description: String {
        "DNS message refused" + (offset.map { " at octet \($0)" } ?? "") + ": \(reason)"
    }
}
