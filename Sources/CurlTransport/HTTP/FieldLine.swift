extension UnsafeRawBufferPointer {
    /// What stands behind a field's name in a line of a head, with the line's end; nil when it is another field's.
    /// - Parameter name: In small letters, with its colon.
    func value(of name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        let length = name.utf8CodeUnitCount
        guard count > length, self[0] | 0x20 == name.utf8Start[0],
            (1..<length).allSatisfy({ self[$0] | 0x20 == name.utf8Start[$0] })
        else { return nil }
        return self[length...]
    }
}
