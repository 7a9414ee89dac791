// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

@Suite("TrustRotation")
struct TrustRotationTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    /// Two files that are there, and none.
    private let files: [TrustRotation.Files] = [[FileSignature("/bin/sh")], [FileSignature("/proc/self/exe")], [nil]]

    @Test("Files are due for a look once in each second, however many requests ask")
    func looks() {
        var rotation = TrustRotation(files[0], at: start)
        let moments: [Duration] = [
            .zero, .milliseconds(999), .seconds(1), .seconds(1), .seconds(9), .milliseconds(9999),
        ]
        let due = moments.map { rotation.shouldLook(at: start + $0) }
        #expect(due == [false, false, true, false, true, false])
    }

    /// One that is gone is a change.
    @Test("Files that could not be used are not tried again until they change")
    func refused() {
        var rotation = TrustRotation(files[0], at: start)
        let atFirst = files.map { rotation.compare(with: $0) }
        #expect(atFirst == [.unchanged, .changed, .changed])
        rotation.refuse(files[1])
        let afterRefusal = files.map { rotation.compare(with: $0) }
        #expect(afterRefusal == [.unchanged, .refusedBefore, .changed])
        let generation = rotation.generation
        let closed = rotation.replace(with: files[2])
        #expect(generation == 1 && closed == 1 && rotation.generation == 2)
        let afterChange = files.map { rotation.compare(with: $0) }
        #expect(afterChange == [.changed, .changed, .unchanged])
    }

    @Test("A generation is closed once, when nothing is about to use it any more")
    func generations() {
        var rotation = TrustRotation(files[0], at: start)
        let begun = [rotation.begin(), rotation.begin()]
        let closed = rotation.replace(with: files[1])
        let next = rotation.begin()
        #expect(begun == [1, 1] && closed == nil && next == 2)
        let ended = [rotation.end(1), rotation.end(1), rotation.end(2)]
        #expect(ended == [false, true, false])
        let unused = rotation.replace(with: files[2])
        #expect(unused == 2)
    }
}
