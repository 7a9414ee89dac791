// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// HTTP/2 frames (RFC 9113) that no real server sends on demand, for a ``RawServer`` behind a ``TLSRelay``.
public enum HTTP2Frames {
    /// A server's SETTINGS frame, with all defaults.
    public static let settings = frame(4, 0, [])

    /// The number of bytes after which at least the beginning of a client's first request has arrived: its preface, SETTINGS
    /// and WINDOW_UPDATE, and the head of a frame, as libcurl sends them.
    public static let firstRequest = preface + 27 + 13 + 9

    /// The length of a client's preface.
    static let preface = 24

    /// Returns RST_STREAM.
    public static func reset(_ code: UInt8, stream: UInt8 = 1) -> [UInt8] { frame(3, stream, [0, 0, 0, code]) }

    /// Returns whether a client has sent HEADERS on a stream.
    public static func hasRequest(on stream: UInt8, in received: [UInt8]) -> Bool {
        var start = preface
        while start + 9 <= received.count {
            if received[start + 3] == 1, received[start + 8] == stream { return true }
            start += 9 + Int(received[start]) << 16 + Int(received[start + 1]) << 8 + Int(received[start + 2])
        }
        return false
    }

    /// Returns GOAWAY after the stream `last`, without an error unless `code` is one.
    public static func goAway(last: UInt8, _ code: UInt8 = 0) -> [UInt8] {
        frame(7, 0, [0, 0, 0, last, 0, 0, 0, code])
    }

    /// Returns HEADERS, without the end of the stream unless `endsStream`.
    /// - Parameters:
    ///   - status: Three digits.
    ///   - length: The value of its `content-length`; `nil`: none.
    ///   - type: The value of its `content-type`; `nil`: none.
    public static func head(
        _ status: String,
        length: String? = nil,
        type: String? = nil,
        stream: UInt8 = 1,
        endsStream: Bool
    )
        -> [UInt8]
    {
        // Literal fields without indexing (RFC 7541 section 6.2.2), with names of the static table: 8 is :status, 28 content-length,
        // 31 content-type.
        var block: [UInt8] = [0x08, 3] + Array(status.utf8)
        if let type { block += [0x0f, 31 - 15, UInt8(type.utf8.count)] + Array(type.utf8) }
        if let length { block += [0x0f, 28 - 15, UInt8(length.utf8.count)] + Array(length.utf8) }
        return frame(1, stream, block, flags: endsStream ? 5 : 4)
    }

    /// Returns DATA of stream 1 that ends the stream.
    public static func data(_ text: String) -> [UInt8] { data(Array(text.utf8)) }

    /// Returns DATA that ends the stream, unless `endsStream` is false.
    public static func data(_ bytes: [UInt8], stream: UInt8 = 1, endsStream: Bool = true) -> [UInt8] {
        frame(0, stream, bytes, flags: endsStream ? 1 : 0)
    }

    /// Returns HEADERS with these fields after the body, at the end of the stream.
    /// - Parameter fields: Names in lower case, and values, each shorter than 127 bytes.
    public static func trailers(_ fields: [(name: String, value: String)], stream: UInt8 = 1) -> [UInt8] {
        // Literal fields without indexing, with new names (RFC 7541 section 6.2.2).
        let block = fields.flatMap { field -> [UInt8] in
            [0, UInt8(field.name.utf8.count)] + Array(field.name.utf8) + [UInt8(field.value.utf8.count)]
                + Array(field.value.utf8)
        }
        return frame(1, stream, block, flags: 5)
    }

    /// Returns a frame of section 4.1, on a stream below 256.
    private static func frame(_ type: UInt8, _ stream: UInt8, _ payload: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }
}
