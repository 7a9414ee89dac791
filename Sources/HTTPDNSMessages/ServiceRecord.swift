/// The data of a record of type SVCB or HTTPS (RFC 9460 section 2.2).
package struct ServiceRecord: Hashable, Sendable {
    /// The priority: 0 is alias mode; otherwise lower numbers are preferred.
    package let priority: UInt16
    /// The target name of the record. The root has a special meaning in each mode (RFC 9460 section 2.5).
    package let target: DNSName
    /// The parameters; empty in alias mode.
    package let parameters: ServiceParameters

    /// Reads the data to its end.
    /// - Throws: ``DNSMessageError`` when the record is malformed, which invalidates all such records of its owner (RFC 9460
    ///   section 2.2).
    init(parsing data: inout DNSMessageReader) throws(DNSMessageError) {
        priority = try data.readUInt16()
        target = try data.readUncompressedName()
        // Parameters in alias mode are reserved for a later standard, and are ignored (RFC 9460 section 2.4.2).
        parameters = priority == 0 ? ServiceParameters() : try ServiceParameters(parsing: &data)
    }
}
