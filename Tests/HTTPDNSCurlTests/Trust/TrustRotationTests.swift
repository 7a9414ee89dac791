// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct TrustRotationTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    /// Two files that are there, and none.
    private let files: [TrustRotation.Files] = [[FileSignature("/bin/sh")], [FileSignature("/proc/self/exe")], [nil]]

    private func steps(_ rotation: inout TrustRotation, _ seconds: [Double]) -> [TrustRotation.Step] {
        seconds.map { rotation.step(at: start + .milliseconds(Int64($0 * 1000))) }
    }

    @Test("A check begins once in each second, and no request waits for it")
    func looks() {
        var rotation = TrustRotation(files[0], at: start)
        #expect(steps(&rotation, [0, 0.999, 1, 1]) == [.use, .use, .begin, .use])
        rotation.lookEnded(at: start + .seconds(1))
        #expect(steps(&rotation, [1.9, 2, 2.5]) == [.use, .begin, .use])
    }

    @Test("Requests wait for the first reading, and a second at most for one after a pause")
    func waits() {
        var first = TrustRotation(nil, at: start)
        #expect(steps(&first, [0, 60]) == [.waitForFirst, .waitForFirst])
        first.begin(with: files[0])
        let end = TrustRotation.Step.wait(until: start + .seconds(13))
        #expect(steps(&first, [12, 12.9, 13, 14]) == [end, end, .use, .use])
        first.lookEnded(at: start + .seconds(20))
        #expect(steps(&first, [20.5]) == [.use])
        var none = TrustRotation([], at: start)
        #expect(steps(&none, [0, 60]) == [.use, .use], "without files nothing is checked")
    }

    @Test("A check that hangs begins no other one, and is reported once")
    func hangs() {
        var rotation = TrustRotation(files[0], at: start)
        #expect(steps(&rotation, [1, 5.9, 6, 7, 3600]) == [.begin, .use, .report, .use, .use])
        rotation.lookEnded(at: start + .seconds(3600))
        #expect(steps(&rotation, [3601]) == [.begin])
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
