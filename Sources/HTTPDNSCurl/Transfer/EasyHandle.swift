// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// A libcurl easy handle and the state of the transfer that it carries. Loop thread only.
///
/// libcurl's callbacks get this object as their pointer. They only record events here; the loop acts on them once libcurl
/// returns.
final class EasyHandle: HeapMember, RacingAttempt, WatchMember {
    /// The maximum length of a body chunk.
    static let maximumChunk = 64 * 1024

    /// The default size of libcurl's reads (CURLOPT_BUFFERSIZE), and the maximum length of the pieces that it passes on.
    static let fullPiece = 16 * 1024

    /// The size of libcurl's reads where long bodies are expected: half of the window, so that the other half keeps the reader
    /// busy meanwhile.
    static let longRead = Transfer.window / 2

    /// The number of bytes from which on a body is long.
    static let longBody = 256 * 1024

    /// The phase of a transfer.
    enum Phase {
        case connecting, securing, sending, awaitingHead, receiving
    }

    /// Unchecked exclusivity, as of each value below: only this object's methods on the loop's thread access them, and none of
    /// them calls out during a change. The check at run time costs more than the change.
    @exclusivity(unchecked) var options: EasyOptions
    @exclusivity(unchecked) var memory = LentBuffers()
    @exclusivity(unchecked) var sessions = SessionLease()
    /// The loop frees its handles before its own end, so the reference needs no check.
    unowned(unsafe) let loop: TransportLoop
    var curl: UnsafeMutableRawPointer { options.curl }

    /// The handle's index among those in libcurl.
    var activeIndex = -1
    var heapIndex = -1
    var heapKey: Int64 = 0
    @exclusivity(unchecked) var watch = WatchEntry<EasyHandle>()
    @exclusivity(unchecked) var carriedEntry = CarriedEntry()
    @exclusivity(unchecked) var listing = AttemptListing()
    @exclusivity(unchecked) var streamTurn = StreamTurn()
    /// Whether the loop knows that there is something to deliver.
    var isReadable = false

    var transfer: Transfer?
    var pin: Pin?
    /// The index of its endpoint in the transfer's race; -1 without one.
    var raceIndex = -1
    /// The scheduled probe that it carries.
    var probe: ProbeTarget?
    /// The connection that is being made for it, and from the pre-request callback on the one that carries its request. `nil`
    /// before that, for a transfer that found a connection or waits for one.
    var connection: Connection?
    /// Whether that connection was opened for it.
    var hasOpenedConnection = false
    /// Whether the RESOLVE list contains the pin's entry.
    var bringsEntry = false

    @exclusivity(unchecked) var progress = TransferProgress()
    @exclusivity(unchecked) var sending = RequestSending()
    @exclusivity(unchecked) var head = IncomingHead()
    @exclusivity(unchecked) var body = IncomingBody()
    @exclusivity(unchecked) var findings = TransferFindings()
    @exclusivity(unchecked) var ending = TransferEnding()

    /// Whether the server may have processed a part of the request, as far as is known.
    var mayHaveArrived: Bool { sending.isRepeated || sending.mayHaveBeenSent && !isUnprocessed }

    init?(loop: TransportLoop) {
        guard let curl = curl_easy_init() else { return nil }
        options = EasyOptions(curl)
        self.loop = loop
    }

    deinit {
        curl_easy_cleanup(curl)
        memory.deallocate()
    }

    /// Whether the handle must carry no other transfer: this one was stopped before it sent its body again, or its stream was
    /// refused after a response had begun.
    ///
    /// libcurl quirk: A stopped handle is spoiled (7.88). State of a body or stream that was stopped stays in the handle
    /// (`rewindbeforesend`, `refused_stream`), also after a reset. Tests: DeadConnectionTests.
    var spoilsNext: Bool {
        sending.mayHaveBeenSent && transfer?.hasBody == true && (!head.isComplete || ending.hasFailed)
            || sending.stream != nil && !ending.isSuccess
    }

    /// Replaces libcurl's handle, and frees the old one.
    func replaceHandle(with handle: UnsafeMutableRawPointer) {
        options.replaceHandle(with: handle)
        sessions.giveBack(to: pin)
        sessions.forget()
    }

    /// Clears the last transfer. Connections stay in the loop's pool.
    func reset() {
        freeBodyCopy()
        if options.needsReset { options.reset() }
        freeLists()
        memory.errorBuffer[0] = 0
        sessions.giveBack(to: pin)
        if transfer?.isProbe == true { probe = nil }
        transfer = nil
        pin = nil
        raceIndex = -1
        use(nil, isOpenedHere: false)
        closeStream()
        setTracing(false)
        isReadable = false
        progress = TransferProgress()
        sending = RequestSending()
        head = IncomingHead()
        body = IncomingBody()
        findings = TransferFindings()
        ending.reset()
    }

    /// Gives libcurl the removals and the pin's entry. An entry that is already in the table is not sent again, so that libcurl
    /// need not recreate it for each request.
    func setResolveList(removals: [String], _ pin: Pin) {
        bringsEntry = !pin.isEntered || !removals.isEmpty || pin.sharesName
        options.set(CURLOPT_RESOLVE, list: bringsEntry ? memory.resolveList(removals: removals, then: pin) : nil)
    }

    /// Frees the header lines and the RESOLVE lines of a transfer.
    func freeLists() {
        memory.freeHeaderList(before: loop.acceptedCodings)
        memory.freeRemovalList(before: pin?.resolve)
    }

    /// Frees the copy of the last transfer's body. libcurl must not have the transfer.
    func freeBodyCopy() {
        guard memory.bodyCopy != nil else { return }
        if options.method.sendsBodyWithHead { options.set(CURLOPT_POSTFIELDS, pointer: nil) }
        memory.freeBodyCopy()
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        _ = ccurl_get_long(curl, info, &value)
        return value
    }

    func microseconds(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        _ = ccurl_get_offset(curl, info, &value)
        return Int64(value)
    }
}
