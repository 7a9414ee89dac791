/// The length that a head declares for its body, said once or several times.
///
/// libcurl believes the last `Content-Length`. Two that differ are an error for good (RFC 9112 section 6.3): whoever
/// believes the other one finds the next answer on the connection at another place.
struct DeclaredLength {
    private var length: UInt64?

    /// Takes note of a line of the head, with its end.
    /// - Returns: False when the line contradicts one before it, or itself.
    mutating func agrees(with line: UnsafeRawBufferPointer) -> Bool {
        guard let value = line.value(of: DeclaredLength.name) else { return true }
        var digits: UInt64 = 0
        for byte in value {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // A number that runs over is no length; libcurl refuses it.
                digits = digits &* 10 &+ UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: ","), UInt8(ascii: "\n"):
                if let length, length != digits { return false }
                length = digits
                digits = 0
            default:
                break
            }
        }
        return true
    }

    private static let name: StaticString = "content-length:"
}
