// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import HTTPDNSCurl

struct UploadQueueTests {
    private func take(_ queue: UploadQueue, _ capacity: Int) -> (bytes: [UInt8]?, portion: UploadQueue.Portion) {
        var buffer = [UInt8](repeating: 0, count: capacity)
        let portion = buffer.withUnsafeMutableBytes { queue.take(into: $0) }
        if case .bytes(let count) = portion { return (Array(buffer.prefix(count)), portion) }
        return (nil, portion)
    }

    @Test("Bytes come out in order, in the loop's own portions, and the end follows them")
    func order() async {
        let queue = UploadQueue(length: 5)
        _ = await queue.push([1, 2, 3])
        _ = await queue.push([4, 5])
        _ = queue.finish(nil)
        #expect(take(queue, 2).bytes == [1, 2])
        #expect(take(queue, 9).bytes == [3])
        #expect(take(queue, 9).bytes == [4, 5])
        guard case .end = take(queue, 9).portion else { return #expect(Bool(false), "no end") }
    }

    @Test("The loop is woken when it found nothing, and only then")
    func waking() async {
        let queue = UploadQueue(length: nil)
        #expect(await queue.push([1]).wakesLoop == false)
        _ = take(queue, 9)
        guard case .later = take(queue, 9).portion else { return #expect(Bool(false), "not later") }
        #expect(await queue.push([2]).wakesLoop)
        _ = take(queue, 9)
        _ = take(queue, 9)
        #expect(queue.finish(nil))
    }

    @Test("A stream that ends by the cancellation of its task is no whole body")
    func cancelledStream() async throws {
        // Of its own it ends without an error then, like most.
        let stream = AsyncThrowingStream<[UInt8], any Error> { _ in }
        let request = try TransportFixture.request(
            "http://one.test/",
            at: "127.0.0.1",
            method: .post,
            body: .stream(length: nil, stream)
        )
        let transfer = Transfer(request, mailbox: LoopMailbox(TransportConfiguration()))
        let (queue, pump) = (try #require(transfer.upload), try #require(transfer.startPump()))
        queue.open()
        pump.cancel()
        await pump.value
        guard case .failed = take(queue, 9).portion else { return #expect(Bool(false), "it looks whole") }
    }

    @Test("A stream that is shorter or longer than declared fails the request")
    func lengths() async {
        let short = UploadQueue(length: 3)
        _ = await short.push([1])
        _ = short.finish(nil)
        guard case .failed(let failure) = take(short, 9).portion else { return #expect(Bool(false), "no failure") }
        #expect(failure.code == .requestBodyFailed)
        #expect(failure.message == "the request body ended after 1 of the 3 bytes declared")

        let long = UploadQueue(length: 1)
        #expect(await long.push([1, 2]).isWanted == false)
        guard case .failed(let tooLong) = take(long, 9).portion else { return #expect(Bool(false), "no failure") }
        #expect(tooLong.message == "the request body is longer than the 1 bytes declared")
    }

    @Test("An error of the stream fails the request and is reported")
    func streamError() {
        struct Broken: Error {}
        let queue = UploadQueue(length: nil)
        _ = queue.finish(Broken())
        guard case .failed(let failure) = take(queue, 9).portion else { return #expect(Bool(false), "no failure") }
        #expect(failure.cause?.error is Broken && failure.cause?.text == "Broken()")
        // The code that prints it escapes it, once.
        #expect(failure.message == "the stream of the request body threw an error")
    }

    @Test("A full queue holds the stream back until the loop takes enough or wants no more")
    func backPressure() async {
        for gives in ["room", "end"] {
            let queue = UploadQueue(length: nil)
            for _ in 0..<8 { _ = await queue.push(Array(repeating: 0, count: UploadQueue.window / 8)) }
            async let space: Void = queue.awaitSpace()
            if gives == "room" {
                while take(queue, UploadQueue.window).bytes?.isEmpty == false {}
            } else {
                queue.abandon()
            }
            await space
            if gives == "end" { #expect(await queue.push([1]).isWanted == false) }
        }
    }

    @Test("A waiter for the end resumes with the last byte taken, or when none is wanted")
    func end() async {
        for takesAll in [true, false] {
            let queue = UploadQueue(length: nil)
            _ = await queue.push([1, 2, 3])
            _ = queue.finish(nil)
            #expect(take(queue, 2).bytes == [1, 2] && queue.taken == (2, false))
            let waiter = Task { await queue.awaitTaken() }
            while !queue.isAwaitingEnd, !Task.isCancelled { await Task.yield() }
            if takesAll { _ = take(queue, 2) } else { queue.abandon() }
            await waiter.value
            #expect(queue.taken == (takesAll ? (3, true) : (2, false)))
        }
    }

    @Test("Progress is told from the opening on, in order, and once when all is taken", arguments: [nil, 0, 3])
    func progress(length: Int64?) async {
        let queue = UploadQueue(length: length)
        let told = Lock<[String]>([])
        let progress = UploadProgress(queue) { bytes, isComplete in
            told.withLock { $0.append("\(bytes) \(isComplete)") }
        }
        queue.open()
        progress.tell()
        var expected = length == 0 ? ["0 false", "0 true"] : ["0 false"]
        #expect(told.withLock(\.self) == expected)
        if length != 0 {
            _ = await queue.push([1, 2, 3])
            _ = take(queue, 2)
            progress.tell()
            // The stream of a known length need not have ended.
            if length == nil { _ = queue.finish(nil) }
            _ = take(queue, 2)
            for _ in 0..<2 { progress.tell() }
            expected += ["2 false", "3 true"]
        }
        #expect(told.withLock(\.self) == expected)
    }
}
