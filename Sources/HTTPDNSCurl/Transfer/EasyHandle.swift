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

    /// Unchecked, as ``head``.
    @exclusivity(unchecked) private(set) var curl: UnsafeMutableRawPointer
    /// The buffer for libcurl's error messages; it must outlive each transfer (CURLOPT_ERRORBUFFER).
    let errorBuffer: UnsafeMutablePointer<CChar>
    /// The parts of the URL (CURLOPT_CURLU); libcurl reads them at the beginning of each transfer.
    let urlParts: OpaquePointer?
    /// The loop frees its handles before its own end, so the reference needs no check.
    unowned(unsafe) let loop: TransportLoop

    /// Whether the options that all plain requests share are set.
    var isConfigured = false
    /// The scheme and versions of the current options.
    var configuredFor: (scheme: ParsedURL.Scheme, versions: HTTPDNSTransfer.AllowedVersions)?
    /// The options of the last transfer's method and body.
    var methodOptions = MethodOptions()
    /// The size of libcurl's reads.
    private(set) var readSize = EasyHandle.fullPiece
    /// The results of setting options.
    @exclusivity(unchecked) var options = OptionResults()
    /// Whether the last transfer set options that the next one must not see.
    var needsReset = false
    /// The handle's index among those in libcurl.
    var activeIndex = -1
    var heapIndex = -1
    var heapKey: Int64 = 0

    var transfer: Transfer?
    var pin: Pin?
    /// The store of libcurl's TLS sessions. It stays with the handle until the next transfer needs another.
    private var sessions: TLSSessions?
    /// The serial number of the pin that the sessions belong to.
    private var sessionsPin: UInt64 = 0
    private var hasTakenSessions = false
    /// The index of its endpoint in the transfer's race; -1 without one.
    var raceIndex = -1
    /// Its index in the ``PinAttempts`` of its pin; -1 when it is not there.
    var attemptIndex = -1
    /// Whether it is there among those with a connection of their own.
    var isListedAsConnecting = false
    /// The end of the race's delay; `Int64.max` without a race, and after the delay.
    var delayedUntil = Int64.max
    /// The time at which its connection is checked while the request has no response; `Int64.max` without a check at a time of
    /// its own. See also ``TransportLoop/watched``.
    var livenessCheckAt = Int64.max
    /// The time since which it is among ``TransportLoop/watched``, and its neighbors there.
    var watchedSince = Int64.max
    unowned(unsafe) var previousWatched: EasyHandle?
    unowned(unsafe) var nextWatched: EasyHandle?
    /// Whether its request was sent once more because its connection became silent.
    var isSentElsewhere = false
    /// The time at which its request is sent once more in parallel; `Int64.max` for never.
    var hedgesAt = Int64.max
    /// Whether its kept connection died, and libcurl connects again.
    var isRedialed = false
    /// Whether it was stopped because another attempt carries the request.
    private(set) var hasLostRace = false
    /// Whether it must end without sending, see ``endsWithoutSending()``.
    var onlyConnects = false
    /// The scheduled probe that it carries.
    var probe: ProbeTarget?
    /// The connection that is being made for it, and from the pre-request callback on the one that carries its request. `nil`
    /// before that, for a transfer that found a connection or waits for one.
    var connection: Connection?
    /// The neighbors in the connection's list of transfers, see ``CarriedTransfers``.
    unowned(unsafe) var previousCarried: EasyHandle?
    unowned(unsafe) var nextCarried: EasyHandle?
    /// Whether that connection was opened for it.
    var hasOpenedConnection = false
    /// The header lines of the request, which libcurl does not copy; freed at the end of the transfer. The last node may be
    /// the loop's ``TransportLoop/acceptedCodings``.
    var headerList: UnsafeMutablePointer<curl_slist>?
    /// The copy of a body that is sent together with the head, see ``MethodOptions/sendsBodyWithHead``.
    var bodyCopy: UnsafeMutableRawBufferPointer?
    /// The RESOLVE lines before the pin's own; the last node points into the pin's list.
    var removalList: UnsafeMutablePointer<curl_slist>?

    /// Whether the RESOLVE list contains the pin's entry.
    var bringsEntry = false
    /// Whether libcurl took a kept connection that must not carry the request: it does not belong to the pin, has stray bytes, or is
    /// about to be closed by its server.
    var rejectsConnection = false
    /// Whether another kept connection may carry it in place of that one.
    var mayTakeAnother = false

    var phase = Phase.connecting
    var startedAt: Int64 = 0
    /// The time at which its request was sent.
    var sentAt: Int64 = 0
    /// The time at which the last byte of its request was sent; `Int64.max` before.
    var bodySentAt: Int64 = .max
    /// The time at which its connection was begun, or looked for.
    var dialedAt: Int64 = 0
    /// The time at which the phase began, or bytes last moved.
    var activeAt: Int64 = 0
    /// The time at which the pin last got the information that its server responds.
    var heardAt: Int64 = 0
    var mayHaveBeenSent = false
    /// Whether libcurl has begun the transfer again after its request was sent, and counts sent bytes from zero.
    var countsFromZero = false
    /// Whether it was sent over HTTP/1.x.
    var isSentOverHTTP1 = false
    /// Whether libcurl always makes a new connection.
    @exclusivity(unchecked) private(set) var connectsFresh = false
    /// Its ticket in the ``StreamQueue`` of its pin; 0 when it does not wait there.
    var streamTicket: UInt64 = 0
    /// Whether it waits in that queue, outside libcurl.
    var waitsForStream: Bool { streamTicket != 0 }
    /// Whether it is counted in ``StreamQueue/undecided``.
    var isUndecided = false
    /// The stream of the request; `nil` over HTTP/1.x.
    var stream: RequestStream?
    /// Whether it is counted in ``Connection/unrepeatable``.
    var isCounted = false
    var isTracing = false
    /// Whether libcurl repeats the request only when its stream was refused.
    var repeatsOnlyRefused = false
    /// Whether its transfer succeeded.
    var isSuccess = false
    /// Whether it was sent before, and may have been processed then.
    var isRepeated = false
    /// Whether the server may have processed a part of the request, as far as is known.
    var mayHaveArrived: Bool { isRepeated || mayHaveBeenSent && !isUnprocessed }
    /// The error number of a failed attempt to get a socket; 0 on success.
    var socketError: Int32 = 0
    /// The pin of the server's public key, as compared by libcurl.
    var serverKeyPin: String?
    /// The names in the server's certificate, if the request's name is none of them.
    var refusedNames: [String] = []
    /// The failure with which a callback stopped the transfer; it takes precedence over libcurl's own code.
    var failure: TransferFailure? {
        didSet { hasFailed = failure != nil }
    }
    /// The same information in one byte: each transfer checks it, and few fail.
    private(set) var hasFailed = false

    /// Unchecked exclusivity, like the other state that changes for each received piece. Only this object's methods on the
    /// loop's thread access it, and none of them calls out during a change. The check at run time costs more than the change.
    @exclusivity(unchecked) var head: [UInt8] = []
    /// The status in the head so far.
    var status: Int?
    var isHeadComplete = false
    /// Whether the last piece of the head that was checked beforehand was no whole line.
    var isInsideHeadLine = false
    /// The response head, checked when it arrived; taken for its delivery.
    var receivedHead: (head: ResponseHead, version: HTTPDNSTransfer.HTTPVersion)?
    /// The interim responses of an attempt that competes with others.
    var heldInterim: [ResponseHead] = []
    @exclusivity(unchecked) var declaredLength = DeclaredLength()
    /// Whether the head has a `Content-Encoding`. Its codings are decoded when the body is read.
    @exclusivity(unchecked) var declaresCoding = false
    /// Whether the head has `Transfer-Encoding: chunked`.
    @exclusivity(unchecked) var isChunked = false
    /// The limits of the connection that the head announces.
    @exclusivity(unchecked) var keepAlive = AnnouncedKeepAlive()
    /// Whether the response counts against limits of the connection.
    var countsKeepAlive = false
    /// The time at which reading first paused; `Int64.max` if it never did.
    var firstPausedAt = Int64.max
    /// Whether only the end of the connection ends the body, and TLS must prove that end (libcurl quirk "Truncated TLS bodies
    /// pass").
    var awaitsCloseNotify = false
    /// Whether TLS has proved it.
    var hasCloseNotify = false
    var isHeadDelivered = false
    /// The full chunks of this loop turn; the current one is separate.
    var chunks: [[UInt8]] = []
    @exclusivity(unchecked) var chunk: [UInt8] = []
    /// Bytes received in this loop turn.
    var pendingBytes = 0
    /// Bytes received in the last turn that had any.
    var lastTurnBytes = 0
    /// The number of unread bytes when the caller's buffer was last checked.
    var unreadBytes = 0
    var bodyBytes = 0
    /// The maximum number of body bytes.
    var maximumBodyBytes = Int.max
    var isReadingPaused = false
    /// Whether libcurl is delivering the bytes that it kept while reading was paused.
    var isTakingKept = false
    var isSendingPaused = false
    /// The version that TLS negotiated, for the transfer that opened the connection.
    var negotiated: HTTPDNSTransfer.HTTPVersion?
    /// The durations of the phases before the body, and the number of new connections; read once, when the head is complete.
    var phaseTimings: HTTPDNSTransfer.Timings?
    var connects = 0
    /// The number of sent bytes of the request body.
    var sentBytes = 0
    /// The lines of the trailer section; `nil` without one.
    @exclusivity(unchecked) var trailers: TrailerLines?
    /// The time until which the rest of an unwanted body is read and dropped; `Int64.max` when the body is wanted.
    var discardsUntil = Int64.max
    /// The number of dropped bytes.
    var discardedBytes = 0
    /// Whether the loop knows that there is something to deliver.
    var isReadable = false
    /// The index of its attempt in the transfer's notes; -1 when it was not noted.
    var noteIndex = -1

    init?(loop: TransportLoop) {
        guard let curl = curl_easy_init() else { return nil }
        self.curl = curl
        self.loop = loop
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        urlParts = curl_url()
    }

    deinit {
        curl_easy_cleanup(curl)
        curl_url_cleanup(urlParts)
        errorBuffer.deallocate()
        bodyCopy?.deallocate()
    }

    /// Whether the handle must carry no other transfer: this one was stopped before it sent its body again, or its stream was
    /// refused after a response had begun.
    ///
    /// libcurl quirk: A stopped handle is spoiled (7.88). State of a body or stream that was stopped stays in the handle
    /// (`rewindbeforesend`, `refused_stream`), also after a reset. Tests: DeadConnectionTests.
    var spoilsNext: Bool {
        mayHaveBeenSent && transfer?.hasBody == true && (!isHeadComplete || hasFailed) || stream != nil && !isSuccess
    }

    /// Uses the given session store from now on.
    private func use(_ sessions: TLSSessions) {
        guard self.sessions !== sessions else { return }
        sessions.use(by: curl)
        self.sessions = sessions
    }

    /// Sets an empty session store before libcurl creates its own, which it would lose with the first store of a pin (libcurl
    /// quirk "Sessions belong to a handle").
    func useNoSessions() {
        // Session stores outlive a reset of the options (`curl_easy_reset`).
        if sessions == nil { use(loop.noSessions) }
    }

    /// Takes a session store of the pin for the transfer.
    func takeSessions(of pin: Pin) {
        let own = sessionsPin == pin.serial || sessions?.isEmpty == true ? sessions : nil
        use(pin.sessions.take(own))
        sessionsPin = pin.serial
        hasTakenSessions = true
    }

    func giveBackSessions() {
        guard hasTakenSessions, let sessions else { return }
        pin?.sessions.giveBack(sessions)
        hasTakenSessions = false
    }

    /// Makes libcurl forget which connection its last transfer used (libcurl quirk "The last connection is looked for").
    /// libcurl must have ended the transfer.
    func forgetConnection() {
        guard let sessions else { return }
        loop.noConnections.forgetConnection(of: curl)
        sessions.use(by: curl)
    }

    /// Resets all options. Connections, and other state of the handle, stay.
    func forgetOptions() {
        curl_easy_reset(curl)
        options = OptionResults()
        noteDefaultOptions()
    }

    /// Notes that libcurl's handle has the default value of each option.
    private func noteDefaultOptions() {
        isTracing = false
        repeatsOnlyRefused = false
        isConfigured = false
        configuredFor = nil
        methodOptions = MethodOptions()
        readSize = EasyHandle.fullPiece
        connectsFresh = false
    }

    /// Sets CURLOPT_FRESH_CONNECT.
    func setConnectsFresh(_ connectsFresh: Bool) {
        guard connectsFresh != self.connectsFresh else { return }
        set(CURLOPT_FRESH_CONNECT, connectsFresh ? 1 : 0)
        self.connectsFresh = connectsFresh
    }

    /// Sets the size of libcurl's reads.
    ///
    /// libcurl quirk: The read buffer has one size (7.88.1). libcurl refuses another CURLOPT_BUFFERSIZE once a transfer has
    /// begun: 16 KiB, or 128 KiB after a long body from the endpoint. Tests: TransportStreamTests.
    func setReadSize(_ size: Int) {
        guard size != readSize, ccurl_set_long(curl, CURLOPT_BUFFERSIZE, size) == CURLE_OK else { return }
        readSize = size
    }

    /// The failure of an attempt that was too late. Callers never see it.
    static let lostRace = TransferFailure(code: .connectOnly, phase: .send, message: "another endpoint was faster")

    /// Stops the attempt: another one carries the request.
    func loseRace() {
        failure = EasyHandle.lostRace
        hasLostRace = true
    }

    /// Returns the response head, and keeps no reference to it.
    func takeReceivedHead() -> (head: ResponseHead, version: HTTPDNSTransfer.HTTPVersion)? {
        defer { receivedHead = nil }
        return receivedHead
    }

    /// Replaces libcurl's handle, and frees the old one.
    func replaceHandle(with handle: UnsafeMutableRawPointer) {
        curl_easy_cleanup(curl)
        curl = handle
        giveBackSessions()
        sessions = nil
        noteDefaultOptions()
    }

    /// Clears the last transfer. Connections stay in the loop's pool.
    func reset() {
        freeBodyCopy()
        if needsReset {
            forgetOptions()
            needsReset = false
        }
        freeHeaderList()
        freeRemovalList()
        errorBuffer[0] = 0
        giveBackSessions()
        if transfer?.isProbe == true { probe = nil }
        transfer = nil
        pin = nil
        raceIndex = -1
        delayedUntil = .max
        livenessCheckAt = .max
        isSentElsewhere = false
        hedgesAt = .max
        isRedialed = false
        hasLostRace = false
        onlyConnects = false
        rejectsConnection = false
        mayTakeAnother = false
        use(nil, isOpenedHere: false)
        heardAt = 0
        phase = .connecting
        mayHaveBeenSent = false
        bodySentAt = .max
        countsFromZero = false
        isSentOverHTTP1 = false
        closeStream()
        setTracing(false)
        isRepeated = false
        isSuccess = false
        socketError = 0
        serverKeyPin = nil
        refusedNames = []
        if hasFailed { failure = nil }
        head = []
        status = nil
        isHeadComplete = false
        declaredLength = DeclaredLength()
        declaresCoding = false
        isChunked = false
        isInsideHeadLine = false
        if countsKeepAlive { keepAlive = AnnouncedKeepAlive() }
        countsKeepAlive = false
        firstPausedAt = .max
        awaitsCloseNotify = false
        hasCloseNotify = false
        isHeadDelivered = false
        if receivedHead != nil { receivedHead = nil }
        if !heldInterim.isEmpty { heldInterim = [] }
        if trailers != nil { trailers = nil }
        discardsUntil = .max
        discardedBytes = 0
        chunks = []
        chunk = []
        pendingBytes = 0
        lastTurnBytes = 0
        unreadBytes = 0
        bodyBytes = 0
        noteIndex = -1
        isReadingPaused = false
        isSendingPaused = false
        negotiated = nil
        phaseTimings = nil
        connects = 0
        sentBytes = 0
        isReadable = false
    }

    /// Gives libcurl the removals and the pin's entry. An entry that is already in the table is not sent again, so that libcurl
    /// need not recreate it for each request.
    func setResolveList(removals: [String], _ pin: Pin) {
        bringsEntry = !pin.isEntered || !removals.isEmpty || pin.sharesName
        set(CURLOPT_RESOLVE, list: bringsEntry ? resolveList(removals: removals, then: pin) : nil)
    }

    /// Returns `removals`, then the pin's entry, which belongs to the pin.
    private func resolveList(removals: [String], then pin: Pin) -> UnsafeMutablePointer<curl_slist>? {
        guard !removals.isEmpty else { return pin.resolve }
        for line in removals { removalList = curl_slist_append(removalList, line) }
        var last = removalList
        while let next = last?.pointee.next { last = next }
        last?.pointee.next = pin.resolve
        return removalList
    }

    func freeRemovalList() {
        // The tail belongs to the pin.
        EasyHandle.free(removalList, before: pin?.resolve)
        removalList = nil
    }

    func freeHeaderList() {
        // The tail belongs to the loop.
        EasyHandle.free(headerList, before: loop.acceptedCodings)
        headerList = nil
    }

    /// Frees the nodes of a list before a tail that belongs to another object.
    private static func free(_ list: UnsafeMutablePointer<curl_slist>?, before tail: UnsafeMutablePointer<curl_slist>?)
    {
        guard list != tail else { return }
        var last = list
        while let node = last {
            if node.pointee.next == tail {
                node.pointee.next = nil
                break
            }
            last = node.pointee.next
        }
        curl_slist_free_all(list)
    }

    // MARK: options

    func set(_ option: CURLoption, _ value: Int) { options.set(option, value, of: curl) }
    func set(_ option: CURLoption, offset value: Int64) {
        options.note(ccurl_set_offset(curl, option, curl_off_t(value)), option)
    }
    func set(_ option: CURLoption, _ value: String?) { options.set(option, value, of: curl) }
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        options.note(ccurl_set_pointer(curl, option, value), option)
    }
    func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) {
        options.note(ccurl_set_list(curl, option, list), option)
    }
    func set(_ option: CURLoption, function: ccurl_data_function) {
        options.note(ccurl_set_data_function(curl, option, function), option)
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
