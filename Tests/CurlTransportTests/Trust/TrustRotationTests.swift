import HTTPDNSPrimitives
import Testing

@testable import CurlTransport

@Suite("TrustRotation")
struct TrustRotationTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    /// Two files that are there, and none.
    private let files: [TrustRotation.Files] = [[FileSignature("/bin/sh")], [FileSignature("/proc/self/exe")], [nil]]

    @Test("a look is due once in each second, however many ask")
    func looks() {
        var rotation = TrustRotation(files[0], at: start)
        #expect(!rotation.shouldLook(at: start) && !rotation.shouldLook(at: start + .milliseconds(999)))
        #expect(rotation.shouldLook(at: start + .seconds(1)) && !rotation.shouldLook(at: start + .seconds(1)))
        #expect(rotation.shouldLook(at: start + .seconds(9)) && !rotation.shouldLook(at: start + .milliseconds(9999)))
    }

    @Test("files that could not be used are not tried again until they change; one that is gone is a change")
    func refused() {
        var rotation = TrustRotation(files[0], at: start)
        #expect(rotation.compare(with: files[0]) == .unchanged && rotation.compare(with: files[1]) == .changed)
        rotation.refuse(files[1])
        #expect(rotation.compare(with: files[1]) == .refusedBefore && rotation.compare(with: files[2]) == .changed)
        #expect(rotation.compare(with: files[0]) == .unchanged && rotation.generation == 1)
        #expect(rotation.replace(with: files[2]) == 1)
        #expect(rotation.compare(with: files[1]) == .changed && rotation.compare(with: files[2]) == .unchanged)
    }

    @Test("a generation is closed once, when nobody is about to use it any more")
    func generations() {
        var rotation = TrustRotation(files[0], at: start)
        let (first, second) = (rotation.begin(), rotation.begin())
        #expect(first == 1 && second == 1)
        #expect(rotation.replace(with: files[1]) == nil)
        #expect(rotation.begin() == 2)
        #expect(!rotation.end(1) && rotation.end(1))
        #expect(!rotation.end(2))
        #expect(rotation.replace(with: files[2]) == 2)
    }
}
