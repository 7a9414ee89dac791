// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCurl

struct DeadlineHeapTests {
    private final class Member: HeapMember {
        var heapIndex = -1
        var heapKey: Int64 = 0
    }

    /// Under random inserts, moves and removals.
    @Test("The first entry is always the earliest")
    func model() {
        var heap = DeadlineHeap<Member>()
        var listed: [Member] = []
        for _ in 0..<5_000 {
            switch Int.random(in: 0..<3) {
            case 0:
                let member = Member()
                heap.insert(member, at: .random(in: 0..<1_000))
                listed.append(member)
            case 1 where !listed.isEmpty:
                heap.move(listed.randomElement()!, to: .random(in: 0..<1_000))
            case 2 where !listed.isEmpty:
                let member = listed.remove(at: .random(in: 0..<listed.count))
                heap.remove(member)
                #expect(member.heapIndex == -1)
            default: break
            }
            #expect(heap.first?.heapKey == listed.map(\.heapKey).min())
            #expect(heap.isEmpty == listed.isEmpty)
        }
    }

    @Test("Removing an absent entry changes nothing")
    func strangers() {
        var heap = DeadlineHeap<Member>()
        let member = Member()
        heap.insert(member, at: 1)
        heap.remove(Member())
        heap.remove(member)
        heap.remove(member)
        #expect(heap.isEmpty)
    }
}
