/// Frames of HTTP/2 (RFC 9113) that no real server sends on demand, for a ``RawServer`` behind a ``TLSRelay``.
public enum HTTP2Frames {
    /// A server's SETTINGS, all of them the defaults.
    public static let settings = frame(4, 0, [])

    /// At least the beginning of a client's first request is there when it has sent so many bytes: its preface, SETTINGS and
    /// WINDOW_UPDATE, and the head of a frame, as libcurl sends them.
    public static let firstRequest = 24 + 27 + 13 + 9

    /// RST_STREAM of stream 1.
    public static func reset(_ code: UInt8) -> [UInt8] { frame(3, 1, [0, 0, 0, code]) }

    /// GOAWAY without an error, after the stream `last`.
    public static func goAway(last: UInt8) -> [UInt8] { frame(7, 0, [0, 0, 0, last, 0, 0, 0, 0]) }

    /// A frame of section 4.1, on a stream below 256, without flags.
    private static func frame(_ type: UInt8, _ stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, 0, 0, 0, 0, stream] + payload
    }
}
