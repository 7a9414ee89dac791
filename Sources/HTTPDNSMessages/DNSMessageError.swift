/// Why the bytes of an answer are not used. The whole message is refused, whichever part is at fault.
package struct DNSMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The message ends inside a header, name or record, or its counts name more records than it has octets for.
        case truncated
        /// More than ``DNSWireFormat/maximumMessageOctets``.
        case tooLong
        /// Octets are left behind the last record.
        case trailingBytes
        /// A label type that no standard uses today (the upper bits 01 or 10).
        case badLabel
        /// A compression pointer that does not lead strictly backwards, leads into the header, or is one too many.
        case badPointer
        /// A name of more than 255 octets.
        case nameTooLong
        /// A record whose data is shorter or longer than its type says.
        case badRecordLength
        /// Not a response (QR clear), or another operation than a standard query.
        case notAResponse
        /// The ID is not the query's, which is 0.
        case wrongID
        /// The TC flag is set, although nothing can be too long for HTTP.
        case truncationFlag
        /// The question is not the one that was asked, or not one.
        case wrongQuestion
        /// An OPT record that is a second one, outside the additional section, or not owned by the root.
        case misplacedOption
        /// The alias chain from the name asked cannot be followed in one way only: two different aliases of one name, or an
        /// alias with data beside it.
        case ambiguousAlias
        /// The alias chain comes back to a name that it went through.
        case aliasLoop
        /// The alias chain has more hops than ``DNSResponse/maximumAliasHops``.
        case aliasChainTooLong
        /// NXDOMAIN, with records for the very name that is said not to exist.
        case contradiction
        /// A record of type SVCB or HTTPS whose parameters do not have the form that RFC 9460 gives them. It voids the
        /// records beside it, and not the message.
        case badService
        /// The client subnet option is not the query's, or has not the form of RFC 7871 section 6.
        case wrongClientSubnet
    }

    package var code: Code
    /// Where in the message, in octets from its start; nil for faults of the message as a whole.
    package var offset: Int?
    /// What was found and what is allowed.
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
