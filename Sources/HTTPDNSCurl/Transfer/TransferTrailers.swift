// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The trailer section of a response that has arrived whole: fields after the body (RFC 9110 section 6.5).
///
/// libcurl quirk: Trailers after a length are lost over HTTP/2 (7.88.1). libcurl ends the transfer with the last byte of the
/// `Content-Length`. No workaround exists. Tests: TrailerTests.
package struct TransferTrailers: Sendable {
    private let bytes: [UInt8]

    init(_ lines: TrailerLines) { bytes = lines.bytes }

    /// The fields, made from the received bytes at each call.
    package var fields: HTTPFields { ResponseHeadParser.trailers(bytes) }
}

/// The lines of a trailer section while it arrives.
struct TrailerLines {
    /// The maximum length of a trailer section, as long as the longest head (libcurl: `MAX_HTTP_RESP_HEADER_SIZE`). libcurl itself
    /// bounds the lines of a trailer section, and not their number (7.88.1: `DYN_H1_TRAILER`).
    static let maximumBytes = 300 * 1024

    private(set) var bytes: [UInt8] = []
    private var lines = 0

    /// Takes a line with its end.
    /// - Returns: The rule that it breaks; `nil` when it breaks none.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Violation? {
        // libcurl quirk: Chunk sizes are read leniently (7.88.1). libcurl reads a chunk size of `0x5` as 0, and the chunk as
        // trailers. Lines there that are no fields are an error. Tests: TransportConnectionTests, TrailerTests.
        guard line.isField, lines > 0 || !line.isContinuation else { return .noField }
        lines += 1
        guard lines <= ResponseHeadParser.maximumFields, bytes.count + line.count <= TrailerLines.maximumBytes else {
            return .tooLong
        }
        bytes.append(contentsOf: line)
        // Over HTTP/1.1 a line may come without its end.
        if line.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
        return nil
    }

    enum Violation {
        case noField, tooLong
    }
}
