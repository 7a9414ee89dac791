// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCurl

struct ChunkQueueTests {
    @Test("Chunks come out in order for any mix of appending and removing")
    func order() {
        var queue = ChunkQueue()
        var expected: [[UInt8]] = []
        for number in 0..<5_000 {
            if Int.random(in: 0..<5) < 3 {
                let chunk = [UInt8(number & 255), UInt8(number >> 8)]
                queue.append(chunk)
                expected.append(chunk)
            } else {
                let chunk = queue.popFirst()
                #expect(chunk == expected.first)
                if chunk != nil { expected.removeFirst() }
            }
            #expect(queue.bytes == expected.count * 2)
        }
    }

    @Test("A queue that is never empty keeps no room for the chunks that have gone")
    func boundedRoom() {
        var queue = ChunkQueue()
        queue.append([0])
        queue.append([0])
        for number in 0..<10_000 {
            queue.append([UInt8(number & 255)])
            _ = queue.popFirst()
        }
        #expect(queue.placesKept <= 128)
    }
}
