internal import Synchronization

extension CachedAnswer {
    /// The parts of an answer as pointers.
    ///
    /// Reads through them need no reference counting, which is most of a lookup's cost.
    struct Places {
        let header: UnsafePointer<Header>
        let marks: UnsafeMutablePointer<Atomic<UInt8>>
        let name: UnsafePointer<UInt8>

        /// Returns whether the answer is the one for a key, whose hash was compared before.
        @inline(__always)
        func match(_ key: CacheKey) -> Bool {
            guard header.pointee.families == key.families?.rawValue ?? 0, header.pointee.isBypass == key.isBypass,
                header.pointee.isAbsolute == key.host.isAbsolute
            else { return false }
            let known = UnsafeBufferPointer(start: name, count: Int(header.pointee.nameCount))
            let isEqual = key.host.withUTF8 { $0.count == known.count && memoryEquals($0, known) }
            guard isEqual, header.pointee.details != nil || key.clientSubnet != nil else { return isEqual }
            return header.pointee.details?.clientSubnet == key.clientSubnet
        }
    }
}

private func memoryEquals(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    let (left, right) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
    var offset = 0
    while offset + 8 <= left.count {
        let first = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        guard first == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self) else { return false }
        offset += 8
    }
    while offset < left.count {
        guard left[offset] == right[offset] else { return false }
        offset += 1
    }
    return true
}
