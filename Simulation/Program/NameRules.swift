// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The mappings and the kill switch as changes from outside have set them, and where a request for a name must go by them.
struct NameRules {
    enum Mapping: Hashable {
        case address(HTTPDNSAddress)
        /// The addresses of the other name.
        case via(Int)
    }

    /// Where the requests for a name go.
    struct Destination {
        /// The name whose addresses these are.
        var name: Int
        /// The address of a mapping; nil where the name is resolved.
        var address: HTTPDNSAddress?
        /// Whether the kill switch leaves the system's name service alone.
        var isOff = false
        /// The time of the latest change of it: earlier calls may have begun by other rules.
        var since: Int64
    }

    /// What a turn of the kill switch is about.
    enum Scope: Hashable {
        case everything
        /// Everything, by the settings.
        case settings
        case name(Int)
    }

    /// The mappings of the settings, which are in effect where no change lies above them.
    private var base: [Int: Mapping] = [:]
    private var changed: [Int: Mapping] = [:]
    private var changedAt: [Int: Int64] = [:]
    /// The times at which the switch was turned off, where it is off, and at which it was last turned on.
    private var offAt: [Scope: Int64] = [:]
    private var onAt: [Scope: Int64] = [:]
    /// The names that mappings of a name have ever led to.
    private(set) var led: [Int: Set<Int>] = [:]

    func mapping(of name: Int) -> Mapping? { changed[name] ?? base[name] }

    mutating func map(_ name: Int, to mapping: Mapping?, at now: Int64) {
        changed[name] = mapping
        noteChange(of: [name], at: now)
    }

    /// Replaces the mappings of the settings.
    /// - Parameter now: The time; `.max` while the settings are being replaced, so that either mapping is right.
    mutating func replaceBase(by new: [Int: Mapping], at now: Int64) {
        let names = Set(base.keys).union(new.keys).filter { base[$0] != new[$0] || changedAt[$0] == .max }
        if now < .max { base = new }
        noteChange(of: names, at: now)
    }

    private mutating func noteChange(of names: Set<Int>, at now: Int64) {
        for name in names { changedAt[name] = now }
        for other in changedAt.keys { led[other, default: []].formUnion(chain(from: other)) }
    }

    mutating func turn(_ scope: Scope, off isOff: Bool, at now: Int64) {
        if !isOff { onAt[scope] = now }
        if !isOff || offAt[scope] == nil { offAt[scope] = isOff ? now : nil }
    }

    /// Notes that a new client has the mappings and the switch of the settings alone.
    mutating func restart(at now: Int64) {
        let names = Set(changed.keys)
        changed = [:]
        noteChange(of: names, at: now)
        for scope in Set(offAt.keys).subtracting([.settings]) { turn(scope, off: false, at: now) }
    }

    /// Returns the time since which a name is off; nil while it is on.
    func isOff(_ name: Int) -> Int64? { scopes(of: name).compactMap { offAt[$0] }.min() }

    private func scopes(of name: Int) -> [Scope] { [.everything, .settings, .name(name)] }

    /// Returns the address that a name is mapped to, on or off.
    func mappedAddress(of name: Int) -> HTTPDNSAddress? {
        guard case .address(let address) = mapping(of: chain(from: name).last ?? name) else { return nil }
        return address
    }

    func destination(of name: Int) -> Destination {
        if let since = isOff(name) { return Destination(name: name, isOff: true, since: since) }
        let chain = chain(from: name)
        let end = chain.last ?? name
        let since = chain.reduce(max(changedAt[name] ?? -1, turnedOn(name))) { max($0, changedAt[$1] ?? -1) }
        if let address = mappedAddress(of: end) {
            return Destination(name: end, address: address, since: since)
        }
        if let off = isOff(end) { return Destination(name: end, isOff: true, since: max(since, off)) }
        return Destination(name: end, since: max(since, turnedOn(end)))
    }

    private func turnedOn(_ name: Int) -> Int64 { scopes(of: name).reduce(-1) { max($0, onAt[$1] ?? -1) } }

    private func chain(from name: Int) -> [Int] {
        var names: [Int] = []
        while case .via(let next) = mapping(of: names.last ?? name) { names.append(next) }
        return names
    }
}
