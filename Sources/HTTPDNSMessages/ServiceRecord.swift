/// The data of a record of type SVCB or HTTPS (RFC 9460 section 2.2).
package struct ServiceRecord: Hashable, Sendable {
    /// 0 is alias mode; else lower is preferred.
    package let priority: UInt16
    /// The name that the record leads to. The root has a meaning of its own in each mode (RFC 9460 section 2.5).
    package let target: DNSName
    /// Empty in alias mode.
    package let parameters: ServiceParameters

    /// Reads the data to its end.
    /// - Throws: ``DNSMessageError`` when the record is malformed, which voids all of its owner's (RFC 9460 section 2.2).
    init(parsing data: inout DNSMessageReader) throws(DNSMessageError) {
        priority = try data.readUInt16()
        target = try data.readUncompressedName()
        // What stands there in alias mode is for a later standard, and is not looked at (RFC 9460 section 2.4.2).
        parameters = priority == 0 ? ServiceParameters() : try ServiceParameters(parsing: &data)
    }
}
