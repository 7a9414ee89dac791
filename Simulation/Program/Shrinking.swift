// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Returns the smallest world found that breaks the same rule: calls and changes are left out as long as it is broken.
///
/// Delta debugging: parts of half the size, then of a quarter, and so on to single ones. What a call draws depends on its
/// number alone, so the others stay as they are.
func shrink(_ world: World, _ variant: Variant, breaking rule: String, mostPlays: Int = 300) -> World {
    var smallest = world
    var plays = 0

    func isBroken(_ candidate: World) -> Bool {
        plays += 1
        let outcome = play(candidate, variant)
        guard rule == Outcome.sameOutcomes else { return outcome.violations.contains { $0.rule == rule } }
        return !outcome.differences(from: play(candidate, Variant(depth: variant.depth, order: .random(1)))).isEmpty
    }

    func shrink<Element>(_ path: WritableKeyPath<World, [Element]>) {
        var size = (smallest[keyPath: path].count + 1) / 2
        while size > 0, plays < mostPlays {
            var start = 0
            while start < smallest[keyPath: path].count, plays < mostPlays {
                var candidate = smallest
                let end = min(start + size, candidate[keyPath: path].count)
                candidate[keyPath: path].removeSubrange(start..<end)
                if isBroken(candidate) { smallest = candidate } else { start = end }
            }
            size = size == 1 ? 0 : (size + 1) / 2
        }
    }

    shrink(\.events)
    shrink(\.calls)
    shrink(\.events)
    return smallest
}
