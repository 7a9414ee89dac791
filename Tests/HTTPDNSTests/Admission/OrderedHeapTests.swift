// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

struct OrderedHeapTests {
    @Test("The first entry has the smallest key after any number of changes")
    func order() {
        var generator = SystemRandomNumberGenerator()
        var heap = OrderedHeap<Int, Int>()
        var model: [Int: Int] = [:]
        for step in 0..<5_000 {
            // Keys are unique, so that there is one right answer.
            let (name, key) = (Int.random(in: 0..<100, using: &generator), step ^ 0x2a5)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                heap.remove(name)
                model[name] = nil
            } else {
                heap.set(key, for: name)
                model[name] = key
            }
            let least = model.min { $0.value < $1.value }
            #expect(heap.count == model.count && heap.isEmpty == model.isEmpty)
            #expect(heap.first?.name == least?.key && heap.first?.key == least?.value)
        }
    }
}
