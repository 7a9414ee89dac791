// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import Synchronization

/// A cached answer: immutable, passed by reference, in one memory block.
///
/// The name and the addresses are bytes after the fields, so that a name with two addresses takes about 110 bytes. Rarely
/// used fields are in ``CachedDetails``. The first of the bytes has the marks that the cache sets.
///
/// Sharing is safe, although `ManagedBuffer` is not `Sendable`: only ``init(_:_:)`` writes header and bytes, before the
/// reference is shared, and all later accesses read. The marks are accessed as an atomic.
package struct CachedAnswer: @unchecked Sendable {
    private let storage: ManagedBuffer<Header, UInt8>

    enum Kind: UInt8 {
        case addresses
        /// NXDOMAIN or no data; the details have the error.
        case nothing
        /// No answer, only a failed lookup.
        case failureOnly
    }

    struct Header: Sendable {
        var sentAt: MonotonicTime
        var expiresAt: MonotonicTime
        var refreshAt: MonotonicTime
        /// The provider and route of the answer; nil for ``Kind/failureOnly``.
        var origin: AnswerOrigin?
        var details: CachedDetails?
        var v4Count: UInt8
        var v6Count: UInt8
        var nameCount: UInt8
        /// The address families that the key names; 0 for nil.
        var families: UInt8
        var isSystemOnly: Bool
        /// Whether the name was written with a trailing dot.
        var isAbsolute: Bool
        var kind: Kind
        /// The most private scope among the addresses.
        var mostPrivateScope: HTTPDNSAddressPolicy.Scope
    }

    /// The usability of a cached answer at a given time.
    package enum Finding: Sendable {
        /// An answer within its lifetime.
        case fresh(CachedAnswer)
        /// Expired addresses, which may be served while no newer ones are available. `mayAsk` is false while the last failure
        /// is too recent for another lookup.
        case stale(CachedAnswer, mayAsk: Bool)
        /// The last lookup failed, and it is too early for another one.
        case backingOff(AnswerFailure)
        /// No usable data: a lookup is needed.
        case nothing
    }

    /// Packs an answer that is not empty, whatever its lifetime. It holds at most 255 addresses of each family; there are never
    /// more than ``HTTPDNSProviderAnswer/maximumAddressesPerFamily``.
    init(_ key: CacheKey, _ answer: KnownAnswer) {
        var known: [HTTPDNSAddress] = []
        let kind: Kind
        switch answer.content {
        case .addresses(let list): (known, kind) = (list, .addresses)
        case .nothing: kind = .nothing
        case .unknown: kind = .failureOnly
        }
        let v4 = known.filter { $0.family == .v4 }.prefix(255)
        let v6 = known.filter { $0.family == .v6 }.prefix(255)
        let addresses = v4 + v6
        let name = Array(key.host.description.utf8)
        let header = Header(
            sentAt: answer.sentAt,
            expiresAt: answer.expiresAt,
            refreshAt: answer.refreshAt,
            origin: answer.origin,
            details: CachedDetails(key, answer),
            v4Count: UInt8(v4.count),
            v6Count: UInt8(v6.count),
            nameCount: UInt8(truncatingIfNeeded: name.count),
            families: key.families?.rawValue ?? 0,
            isSystemOnly: key.isSystemOnly,
            isAbsolute: key.host.isAbsolute,
            kind: kind,
            mostPrivateScope: addresses.map(HTTPDNSAddressPolicy.Scope.init(of:)).max() ?? .public
        )
        let bytes = [0] + name + addresses.flatMap(\.bytes)
        storage = ManagedBuffer<Header, UInt8>.create(minimumCapacity: bytes.count) { _ in header }
        storage.withUnsafeMutablePointerToElements { target in
            for (index, byte) in bytes.enumerated() { (target + index).initialize(to: byte) }
        }
    }

    /// The fields.
    var header: Header { storage.header }
    var kind: Kind { read { $0.pointee.kind } }
    var mostPrivateScope: HTTPDNSAddressPolicy.Scope { read { $0.pointee.mostPrivateScope } }
    package var expiresAt: MonotonicTime { read { $0.pointee.expiresAt } }
    var refreshAt: MonotonicTime { read { $0.pointee.refreshAt } }
    package var sentAt: MonotonicTime { read { $0.pointee.sentAt } }
    /// The provider and route of the answer; nil while only a failure is known.
    package var origin: AnswerOrigin? { read { $0.pointee.origin } }
    /// The source of the answer and the counters of its queries; nil for ``Kind/failureOnly``.
    ///
    /// Valid as long as the answer. All threads share the origin, so a hit must not count references to it.
    var directOrigin: (source: HTTPDNSResolver.Resolution.Source, counters: StripedCounters.Cells)? {
        read { header in header.pointee.origin.map { ($0.source, $0.countersMemory) } }
    }
    /// Whether a family failed while the other one had addresses.
    var lacksFamily: Bool { read { $0.pointee.details?.fields.failedFamilies.isEmpty == false } }
    var httpsRecords: ServiceRoute? { read { $0.pointee.details?.fields.httpsRecords } }
    /// The reason that there is no address, for a negative answer.
    package var negative: HTTPDNSResolver.Error? { read { $0.pointee.details?.negative } }
    /// The failure of the latest lookup since the answer.
    var failure: AnswerFailure? { read { $0.pointee.details?.fields.failure } }

    /// Reads a field in place. Reading ``header`` would copy all fields, which counts references, and check each access for
    /// exclusivity, although there are no writes.
    @inline(__always)
    private func read<Value>(_ body: (UnsafeMutablePointer<Header>) -> Value) -> Value {
        storage.withUnsafeMutablePointerToHeader(body)
    }

    /// The addresses of its parts in memory. They are valid as long as the caller keeps the answer itself.
    var places: Places {
        storage.withUnsafeMutablePointers { header, bytes in
            Places(
                header: UnsafePointer(header),
                marks: UnsafeMutableRawPointer(bytes).assumingMemoryBound(to: Atomic<UInt8>.self),
                name: UnsafePointer(bytes + CachedAnswer.nameStart)
            )
        }
    }

    private func byteCountOfTail(_ header: Header) -> Int {
        CachedAnswer.nameStart + Int(header.nameCount) + Int(header.v4Count) * 4 + Int(header.v6Count) * 16
    }

    /// Returns whether it is the answer for a key, whose hash was compared before.
    func matches(_ key: CacheKey) -> Bool {
        places.match(
            key.host,
            families: key.families,
            isSystemOnly: key.isSystemOnly,
            clientSubnet: key.clientSubnet
        )
    }

    /// Returns whether both are the same object.
    func isIdentical(to other: CachedAnswer) -> Bool { storage === other.storage }

    /// Returns whether it is within its lifetime.
    package func isFresh(at now: MonotonicTime) -> Bool { now < expiresAt }

    /// Returns its usability at `now`. A fresh answer precedes a failure: a failed lookup never shortens an answer's
    /// lifetime.
    package func find(at now: MonotonicTime) -> Finding {
        if isFresh(at: now) { return .fresh(self) }
        let failure = failure(at: now)
        let isBackingOff = failure.map { now < $0.retryAt } ?? false
        if isStale(at: now) { return .stale(self, mayAsk: !isBackingOff) }
        if isBackingOff, let failure, !failure.skippedFallback { return .backingOff(failure) }
        return .nothing
    }

    /// Returns the failure of the latest lookup since the answer. A negative answer that was doubted because of the addresses
    /// counts for its own lifetime at most once they may no longer be served.
    package func failure(at now: MonotonicTime) -> AnswerFailure? {
        guard var latest = failure, let end = latest.deniedUntil, !mayServe(at: now) else { return failure }
        latest.retryAt = min(latest.retryAt, end)
        latest.error.hint = nil
        return latest
    }

    /// Returns the usable answer at `now`, of the one for its own key and one for all clients. The own one is preferred.
    static func find(_ own: CachedAnswer?, orForAllClients shared: CachedAnswer?, at now: MonotonicTime) -> Finding {
        let finding = own?.find(at: now) ?? .nothing
        guard let shared else { return finding }
        switch (finding, shared.find(at: now)) {
        case (.fresh, _), (.stale, .stale), (_, .nothing), (_, .backingOff): return finding
        case (.backingOff, .stale(let answer, _)): return .stale(answer, mayAsk: false)
        case (_, let shared): return shared
        }
    }

    /// Returns whether it is past its lifetime and may still be served.
    func isStale(at now: MonotonicTime) -> Bool {
        guard kind == .addresses, now >= expiresAt, let limit = origin?.staleLimit,
            httpsRecords?.unavailable == nil
        else { return false }
        return now < expiresAt + limit
    }

    /// Returns whether it has addresses that may be served when there are no newer ones.
    func mayServe(at now: MonotonicTime) -> Bool { kind == .addresses && isFresh(at: now) || isStale(at: now) }

    /// Returns whether a use at `now` refreshes it in the background.
    func wantsRefresh(at now: MonotonicTime) -> Bool {
        guard now >= refreshAt, kind == .addresses else { return false }
        return failure.map { now >= $0.retryAt } ?? true
    }

    /// Returns whether no part of it is worth keeping at `now`.
    func isSpent(at now: MonotonicTime) -> Bool {
        if case .nothing = find(at: now) { true } else { false }
    }

    /// The number of addresses.
    var addressCount: Int { read { Int($0.pointee.v4Count) + Int($0.pointee.v6Count) } }

    /// The addresses, IPv4 first.
    package var addresses: [HTTPDNSAddress] { (0..<addressCount).map(address(at:)) }

    /// Returns the address at an index, IPv4 addresses first.
    package func address(at index: Int) -> HTTPDNSAddress {
        storage.withUnsafeMutablePointers { header, bytes in
            let v4Count = Int(header.pointee.v4Count)
            let start = bytes + CachedAnswer.nameStart + Int(header.pointee.nameCount)
            func word(_ offset: Int, _ count: Int) -> UInt64 {
                var value: UInt64 = 0
                for place in offset..<offset + count { value = value << 8 | UInt64(start[place]) }
                return value
            }
            if index < v4Count { return HTTPDNSAddress(family: .v4, high: 0, low: word(index * 4, 4)) }
            let offset = v4Count * 4 + (index - v4Count) * 16
            return HTTPDNSAddress(family: .v6, high: word(offset, 8), low: word(offset + 8, 8))
        }
    }

    /// Returns the endpoints for a query on a port, in the order to try.
    func endpoints(port: UInt16) -> [HTTPDNSEndpoint] {
        if let httpsRecords, httpsRecords.applies(to: port) { return httpsRecords.endpoints }
        return (0..<addressCount).map { HTTPDNSEndpoint(address: address(at: $0), port: port) }
    }

    /// The families that the query itself named; nil for those of the name's route.
    package var families: HTTPDNSAddress.Families? {
        read { $0.pointee.families == 0 ? nil : HTTPDNSAddress.Families(rawValue: $0.pointee.families) }
    }

    /// The name of its key.
    package var host: HTTPDNSName {
        storage.withUnsafeMutablePointers { header, bytes in
            let name = UnsafeBufferPointer(
                start: bytes + CachedAnswer.nameStart,
                count: Int(header.pointee.nameCount)
            )
            return HTTPDNSName(
                canonical: String(decoding: name, as: UTF8.self),
                isAbsolute: header.pointee.isAbsolute
            )
        }
    }

    /// The key under which it is cached.
    var key: CacheKey {
        CacheKey(
            host,
            families: families,
            isSystemOnly: header.isSystemOnly,
            clientSubnet: header.details?.clientSubnet
        )
    }

    /// The memory of the answer, with the allocator's rounding to 16 bytes and its 8 bytes of bookkeeping (glibc).
    var byteCount: Int {
        let object = CachedAnswer.objectBytes + MemoryLayout<Header>.size + byteCountOfTail(header)
        return (object + 8 + 15) / 16 * 16 + (header.details?.byteCount ?? 0)
    }

    /// The offset of the name after the marks.
    private static let nameStart = 1

    /// The two words before an object's fields: its type and its reference counts.
    private static let objectBytes = 16
}

/// The marks that the cache and its users set on a cached answer: one byte, without a lock.
private enum Mark {
    /// It was used since the cache last checked.
    static let used: UInt8 = 1
    /// An event was sent that the answer is served past its lifetime.
    static let toldStale: UInt8 = 2
}

extension CachedAnswer {
    /// Marks the answer as used. The mark is written only once, because other threads read the same memory.
    func noteUse() {
        if !wasUsed { places.marks.pointee.bitwiseOr(Mark.used, ordering: .relaxed) }
    }

    /// Whether it was used since its cache last checked.
    var wasUsed: Bool { places.marks.pointee.load(ordering: .relaxed) & Mark.used != 0 }

    /// Whether an event was sent that it is served past its lifetime.
    var isToldStale: Bool { places.marks.pointee.load(ordering: .relaxed) & Mark.toldStale != 0 }

    /// Records that an event is sent that it is served past its lifetime.
    /// - Returns: Whether none was sent before.
    @discardableResult
    func noteToldStale() -> Bool {
        places.marks.pointee.bitwiseOr(Mark.toldStale, ordering: .relaxed).oldValue & Mark.toldStale == 0
    }

    /// Clears the mark of use.
    func forgetUse() { places.marks.pointee.bitwiseAnd(~Mark.used, ordering: .relaxed) }
}

extension CachedAnswer {
    /// The parts of an answer as pointers.
    ///
    /// Reads through them need no reference counting, which is most of a lookup's cost.
    struct Places {
        let header: UnsafePointer<Header>
        let marks: UnsafeMutablePointer<Atomic<UInt8>>
        let name: UnsafePointer<UInt8>

        /// Returns whether the answer is the one for a key with these parts, whose hash was compared before.
        @inline(__always)
        func match(
            _ host: HTTPDNSName,
            families: HTTPDNSAddress.Families?,
            isSystemOnly: Bool,
            clientSubnet: HTTPDNSAddressBlock?
        ) -> Bool {
            guard header.pointee.families == families?.rawValue ?? 0, header.pointee.isSystemOnly == isSystemOnly,
                header.pointee.isAbsolute == host.isAbsolute
            else { return false }
            let known = UnsafeBufferPointer(start: name, count: Int(header.pointee.nameCount))
            let isEqual = host.withUTF8 { $0.count == known.count && memoryEquals($0, known) }
            guard isEqual, header.pointee.details != nil || clientSubnet != nil else { return isEqual }
            return header.pointee.details?.clientSubnet == clientSubnet
        }
    }
}
