// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The options of an OPT record (RFC 6891 section 6.1.2), and their numbers in IANA's registry.
enum DNSOptions {
    /// RFC 7871 section 6.
    static let clientSubnet: UInt16 = 8
    /// RFC 7873 section 4.
    static let cookie: UInt16 = 10
    /// RFC 7830 section 3.
    static let padding: UInt16 = 12
    /// RFC 8914 section 2.
    static let extendedError: UInt16 = 15

    /// Reads the options, which must fill the record.
    static func read(
        _ data: inout DNSMessageReader,
        _ body: (UInt16, inout DNSMessageReader) throws(DNSMessageError) -> Void
    ) throws(DNSMessageError) {
        while data.remaining > 0 {
            let code = try data.readUInt16()
            var option = try data.readSection(Int(try data.readUInt16()))
            try body(code, &option)
        }
    }
}

extension [HTTPDNSExtendedError] {
    /// Adds the reason in an option, unless there are ``DNSResponse/maximumExtendedErrors``.
    mutating func append(parsing option: inout DNSMessageReader) throws(DNSMessageError) {
        guard count < DNSResponse.maximumExtendedErrors, option.remaining >= 2 else { return }
        let code = try option.readUInt16()
        let text = String(decoding: try option.readOctets(option.remaining), as: UTF8.self)
        append(HTTPDNSExtendedError(code: code, text: text))
    }
}

extension [UInt8] {
    /// Appends the number with its highest byte first.
    mutating func appendBigEndian(_ value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
