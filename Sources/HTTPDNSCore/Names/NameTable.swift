// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A table from names to values, by open addressing with ``HTTPDNSName/nameHash``.
///
/// The hash is computed once for a name, when it is parsed. A part of a name is found by its bytes, so that it need not become
/// a text of its own. Names are never removed.
struct NameTable<Value: Sendable>: Sendable {
    /// The names in the order in which they were added.
    private(set) var names: [HTTPDNSName] = []
    /// The values of ``names``.
    private(set) var values: [Value] = []
    /// The high half of each hash, and below it the place of its name plus one; 0 for an empty position. The size is a power of
    /// two, at most half full.
    private var index: [UInt64]

    /// - Parameter count: The number of names for which no position has to move.
    init(minimumCapacity count: Int = 0) {
        index = []
        guard count > 0 else { return }
        names.reserveCapacity(count)
        values.reserveCapacity(count)
        index = Array(repeating: 0, count: Self.positions(for: count))
    }

    var isEmpty: Bool { names.isEmpty }

    /// Returns the place of a name.
    func place(of name: HTTPDNSName) -> Int? {
        if isEmpty { return nil }
        return name.withUTF8 { place(of: $0, hash: name.nameHash) }
    }

    /// Returns the place of the name with these bytes.
    /// - Parameter hash: The ``NameHash`` of the bytes.
    @inline(__always)
    func place(of bytes: UnsafeBufferPointer<UInt8>, hash: UInt64) -> Int? {
        if index.isEmpty { return nil }
        let mask = index.count - 1
        var position = Int(truncatingIfNeeded: hash) & mask
        while index[position] != 0 {
            let entry = index[position]
            if entry >> 32 == hash >> 32 {
                let place = Int(truncatingIfNeeded: entry & 0xffff_ffff) - 1
                if names[place].withUTF8({ $0.count == bytes.count && memoryEquals($0, bytes) }) { return place }
            }
            position = (position + 1) & mask
        }
        return nil
    }

    /// Returns the place of a name, which is added with a value if it is not there.
    mutating func place(of name: HTTPDNSName, adding value: @autoclosure () -> Value) -> Int {
        if let place = place(of: name) { return place }
        names.append(name)
        values.append(value())
        if names.count * 2 > index.count { grow() } else { enter(names.count - 1) }
        return names.count - 1
    }

    /// Changes the value at a place.
    mutating func change(_ place: Int, _ body: (inout Value) -> Void) { body(&values[place]) }

    private static func positions(for count: Int) -> Int {
        var positions = 8
        while positions < count * 2 { positions *= 2 }
        return positions
    }

    private mutating func enter(_ place: Int) {
        let hash = names[place].nameHash
        let mask = index.count - 1
        var position = Int(truncatingIfNeeded: hash) & mask
        while index[position] != 0 { position = (position + 1) & mask }
        index[position] = (hash >> 32) << 32 | UInt64(place + 1)
    }

    private mutating func grow() {
        index = Array(repeating: 0, count: Self.positions(for: max(names.count, index.count)))
        for place in names.indices { enter(place) }
    }
}

/// Returns whether both have the same bytes. The counts are equal.
func memoryEquals(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
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
