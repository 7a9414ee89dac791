// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Random numbers of SplitMix64.
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// The draws about one thing that happens, such as the third response to a call.
///
/// They depend on the world and on the thing alone, and so are the same under every schedule.
struct Draw {
    private var random: Random

    init(_ world: UInt64, _ thing: String) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ world
        for byte in thing.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        random = Random(hash)
        _ = random.next()
    }

    /// The draws about something that happens now. What happened before may differ between variants, and decides nothing.
    init(now thing: String, in world: UInt64) { self.init(world, "\(thing) \(schedule.elapsed)") }

    mutating func below(_ bound: Int) -> Int { Int(random.next(upperBound: UInt64(bound))) }

    mutating func happens(_ share: Int, of whole: Int = 100) -> Bool { below(whole) < share }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// A time with nanoseconds, so that no two things of a world happen at the same moment.
    mutating func time(_ low: Duration, _ high: Duration) -> Duration {
        let (low, high) = (low.nanoseconds, high.nanoseconds)
        return .nanoseconds(low + Int64(below(Int(max(1, high - low)))))
    }
}

extension Duration {
    var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
