/// The twelve octets at the start of a response (RFC 1035 section 4.1.1).
struct DNSResponseHeader {
    let responseCode: UInt16
    let questionCount: UInt16
    let answerCount: UInt16
    let authorityCount: UInt16
    let additionalCount: UInt16

    /// Reads the header and checks that it belongs to a complete response to a standard query with ID 0.
    init(_ reader: inout DNSMessageReader) throws(DNSMessageError) {
        guard reader.remaining >= DNSWireFormat.headerOctets else {
            throw DNSMessageError(
                .truncated,
                at: reader.remaining,
                "\(reader.remaining) octets; the header alone has \(DNSWireFormat.headerOctets)"
            )
        }
        let id = try reader.readUInt16()
        let flags = try reader.readUInt16()
        guard flags & DNSWireFormat.Flag.response != 0 else {
            throw DNSMessageError(.notAResponse, at: 2, "it is a query (the QR flag is clear)")
        }
        guard flags & DNSWireFormat.Flag.operationCode == 0 else {
            let code = (flags & DNSWireFormat.Flag.operationCode) >> 11
            throw DNSMessageError(.notAResponse, at: 2, "operation code \(code); it must be 0, a standard query")
        }
        guard id == 0 else {
            throw DNSMessageError(.wrongID, at: 0, "ID \(id); the query had 0 (RFC 8484 section 4.1)")
        }
        guard flags & DNSWireFormat.Flag.truncated == 0 else {
            throw DNSMessageError(.truncationFlag, at: 2, "the server cut it (the TC flag is set)")
        }
        responseCode = flags & DNSWireFormat.Flag.responseCode
        questionCount = try reader.readUInt16()
        answerCount = try reader.readUInt16()
        authorityCount = try reader.readUInt16()
        additionalCount = try reader.readUInt16()
    }

    /// Whether the query failed: neither NOERROR nor NXDOMAIN.
    var saysThatQueryFailed: Bool {
        responseCode != DNSResponseCode.noError.number && responseCode != DNSResponseCode.nameError.number
    }
}
