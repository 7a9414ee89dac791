extension UnsafeRawBufferPointer {
    /// Returns the part after a field's name in a line of a head, including the line's end; `nil` for another field.
    /// - Parameter name: In lower case, with its colon.
    func value(of name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        let length = name.utf8CodeUnitCount
        guard count > length, self[0] | 0x20 == name.utf8Start[0],
            (1..<length).allSatisfy({ self[$0] | 0x20 == name.utf8Start[$0] })
        else { return nil }
        return self[length...]
    }

    /// Whether the line, with its end, is a field (RFC 9112 section 5), or continues the one before it (section 5.2).
    var isField: Bool {
        guard let first, first != UInt8(ascii: " "), first != UInt8(ascii: "\t") else { return true }
        guard let colon = firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return false }
        return self[..<colon].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: UnsafeRawBufferPointer.marks.utf8Contains(byte)
            }
        }
    }

    /// The characters of a token other than letters and digits (RFC 9110 section 5.6.2).
    private static let marks: StaticString = "!#$%&'*+-.^_`|~"
}

extension StaticString {
    fileprivate func utf8Contains(_ byte: UInt8) -> Bool {
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount).contains(byte)
    }
}
