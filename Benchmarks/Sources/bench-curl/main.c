// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// The same requests through libcurl alone: one thread, one multi handle, the pin made as the client makes it. Each request
// sets up its handle again and keeps head and body in memory, as any client must that serves requests as they come.
#include "loop.h"
#include "orders.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// The length from which on a body is read in larger pieces, and the length of those pieces.
#define LONG_BODY (256L * 1024)
#define LONG_READ (128L * 1024)

struct bytes {
    char *start;
    size_t count;
    size_t capacity;
};

struct transfer {
    struct contender *contender;
    CURL *easy;
    bool is_slow;
    double started;
    // The file that the body is saved to, or that is uploaded.
    int file;
    long unsent;
    struct bytes head;
    struct bytes body;
};

struct contender {
    struct orders orders;
    struct loop *loop;
    struct curl_slist *header_lines;
    struct curl_slist *connect_to;
    struct curl_slist *resolve;
    char *post_body;
    long unstarted;
    long unfinished;
    long slow_responses;
    bool slow_ends;
    // The microseconds of each request.
    double *times;
    long time_count;
};

static void fail(const char *what) {
    fprintf(stderr, "bench-curl: %s\n", what);
    exit(1);
}

static void append(struct bytes *bytes, const char *start, size_t count) {
    if (bytes->count + count > bytes->capacity) {
        size_t capacity = bytes->capacity ? bytes->capacity : 512;
        while (capacity < bytes->count + count) {
            capacity *= 2;
        }
        if (!(bytes->start = realloc(bytes->start, capacity))) {
            fail("out of memory");
        }
        bytes->capacity = capacity;
    }
    memcpy(bytes->start + bytes->count, start, count);
    bytes->count += count;
}

static void release(struct bytes *bytes) {
    free(bytes->start);
    *bytes = (struct bytes){0};
}

static size_t on_head(char *start, size_t size, size_t count, void *transfer) {
    append(&((struct transfer *)transfer)->head, start, size * count);
    return size * count;
}

static size_t on_body(char *start, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    if (transfer->contender->orders.save_path) {
        if (write(transfer->file, start, size * count) != (ssize_t)(size * count)) {
            fail("a body cannot be saved");
        }
        transfer->body.count += size * count;
    } else if (transfer->contender->orders.discard) {
        transfer->body.count += size * count;
    } else {
        append(&transfer->body, start, size * count);
    }
    return size * count;
}

static size_t on_upload(char *start, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    size_t bytes = size * count;
    if (transfer->contender->orders.upload_path) {
        ssize_t read_bytes = read(transfer->file, start, bytes);
        if (read_bytes < 0) {
            fail("--upload-file cannot be read");
        }
        return read_bytes;
    }
    bytes = bytes < (size_t)transfer->unsent ? bytes : (size_t)transfer->unsent;
    memset(start, 'x', bytes);
    transfer->unsent -= bytes;
    return bytes;
}

static struct curl_slist *line(struct curl_slist *list, const char *text) {
    struct curl_slist *longer = curl_slist_append(list, text);
    if (!longer) {
        fail("out of memory");
    }
    return longer;
}

// The pin of the client: CONNECT_TO names a made-up host, RESOLVE gives that host its address.
static void make_pin(struct contender *contender) {
    const struct orders *orders = &contender->orders;
    char text[512];
    CURLU *url = curl_url();
    char *port = NULL;
    if (!url || curl_url_set(url, CURLUPART_URL, orders->url, 0) ||
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)) {
        fail("--url cannot be read");
    }
    snprintf(text, sizeof text, "%s:%s:p1.invalid:%s", orders->host, port, port);
    contender->connect_to = line(NULL, text);
    snprintf(text, sizeof text, "+p1.invalid:%s:%s", port, orders->address);
    contender->resolve = line(NULL, text);
    curl_free(port);
    curl_url_cleanup(url);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void start(struct transfer *transfer) {
    struct contender *contender = transfer->contender;
    const struct orders *orders = &contender->orders;
    CURL *easy = transfer->easy;
    transfer->started = seconds(CLOCK_MONOTONIC);
    if (orders->save_path && (transfer->file = open(orders->save_path, O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0) {
        fail("--save cannot be written");
    }
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_URL, transfer->is_slow ? orders->slow_url : orders->url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, contender->header_lines);
    if (!transfer->is_slow) {
        curl_easy_setopt(easy, CURLOPT_CONNECT_TO, contender->connect_to);
        curl_easy_setopt(easy, CURLOPT_RESOLVE, contender->resolve);
    }
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, -1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 60000L);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (orders->upload_path || orders->upload_stream) {
        if (orders->upload_path && (transfer->file = open(orders->upload_path, O_RDONLY)) < 0) {
            fail("--upload-file cannot be read");
        }
        transfer->unsent = orders->post_bytes;
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)orders->post_bytes);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
    } else if (contender->post_body) {
        // libcurl does not copy the body.
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, orders->post_bytes);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, contender->post_body);
    }
    if (orders->body_bytes >= LONG_BODY && !orders->certificate_file) {
        // As the client does: the default is 16 KiB.
        curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, LONG_READ);
    }
    if (orders->certificate_file) {
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(easy, CURLOPT_CAINFO, orders->certificate_file);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, orders->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    }
    loop_prepare(contender->loop, easy);
    if (curl_multi_add_handle(loop_multi(contender->loop), easy)) {
        fail("a transfer cannot be started");
    }
}

static void check(const struct transfer *transfer, CURLcode result) {
    const struct orders *orders = &transfer->contender->orders;
    long status = 0;
    long version = 0;
    if (result) {
        fail(curl_easy_strerror(result));
    }
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
    if (status != 200) {
        fail("a status other than 200");
    }
    if (transfer->body.count != (size_t)orders->body_bytes) {
        fail("a body of another length");
    }
    if (version != (orders->http2 ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_1_1)) {
        fail("an answer in another HTTP version");
    }
}

static void on_finished(CURL *easy, CURLcode result, void *context) {
    struct contender *contender = context;
    struct transfer *transfer;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    check(transfer, result);
    release(&transfer->head);
    release(&transfer->body);
    if (transfer->is_slow) {
        contender->slow_responses++;
        if (!contender->slow_ends) {
            start(transfer);
        }
        return;
    }
    if (contender->orders.save_path || contender->orders.upload_path) {
        close(transfer->file);
    }
    contender->times[contender->time_count++] = (seconds(CLOCK_MONOTONIC) - transfer->started) * 1e6;
    contender->unfinished--;
    if (contender->unstarted > 0) {
        contender->unstarted--;
        start(transfer);
    }
}

static struct transfer *make_transfers(struct contender *contender, long count) {
    struct transfer *transfers = calloc(count ? count : 1, sizeof *transfers);
    for (long i = 0; i < count; i++) {
        transfers[i].contender = contender;
        if (!(transfers[i].easy = curl_easy_init())) {
            fail("out of memory");
        }
    }
    return transfers;
}

static void free_transfers(struct contender *contender, struct transfer *transfers, long count) {
    for (long i = 0; i < count; i++) {
        curl_multi_remove_handle(loop_multi(contender->loop), transfers[i].easy);
        curl_easy_cleanup(transfers[i].easy);
        release(&transfers[i].head);
        release(&transfers[i].body);
    }
    free(transfers);
}

static void run(struct contender *contender, struct transfer *transfers, long requests) {
    contender->unstarted = contender->unfinished = requests;
    contender->time_count = 0;
    for (long i = 0; i < contender->orders.in_flight && contender->unstarted > 0; i++) {
        contender->unstarted--;
        start(&transfers[i]);
    }
    loop_run(contender->loop, &contender->unfinished, on_finished, contender);
}

// Requests that get no answer. All are connected, and have sent what they send, when it returns.
static CURL **start_silent(struct contender *contender) {
    long count = contender->orders.silent;
    CURL **silent = calloc(count ? count : 1, sizeof *silent);
    for (long i = 0; i < count; i++) {
        CURL *easy = silent[i] = curl_easy_init();
        if (!easy) {
            fail("out of memory");
        }
        curl_easy_setopt(easy, CURLOPT_URL, contender->orders.silent_url);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, contender->header_lines);
        loop_prepare(contender->loop, easy);
        if (curl_multi_add_handle(loop_multi(contender->loop), easy)) {
            fail("a silent transfer cannot be started");
        }
    }
    long sent = 0;
    while (sent < count) {
        loop_turn(contender->loop, -1);
        sent = 0;
        for (long i = 0; i < count; i++) {
            long bytes = 0;
            curl_easy_getinfo(silent[i], CURLINFO_REQUEST_SIZE, &bytes);
            sent += bytes > 0;
        }
    }
    return silent;
}

static void stop_silent(struct contender *contender, CURL **silent) {
    for (long i = 0; i < contender->orders.silent; i++) {
        curl_multi_remove_handle(loop_multi(contender->loop), silent[i]);
        curl_easy_cleanup(silent[i]);
    }
    free(silent);
}

// Requests to an origin that responds late, on kept connections. Each has had a response when it returns.
static struct transfer *start_slow(struct contender *contender) {
    long count = contender->orders.slow;
    struct transfer *slow = make_transfers(contender, count);
    for (long i = 0; i < count; i++) {
        slow[i].is_slow = true;
        start(&slow[i]);
        // 2,000 in 400 ms: all at once, they would be due at one moment again and again.
        if (i % 5 == 4) {
            loop_turn(contender->loop, 1);
            loop_reap(contender->loop, on_finished, contender);
        }
    }
    while (contender->slow_responses < count) {
        loop_turn(contender->loop, -1);
        loop_reap(contender->loop, on_finished, contender);
    }
    return slow;
}

static int compare(const void *first, const void *second) {
    double difference = *(const double *)first - *(const double *)second;
    return difference < 0 ? -1 : difference > 0;
}

static double quantile(const struct contender *contender, double share) {
    long place = contender->time_count * share;
    return contender->times[place < contender->time_count ? place : contender->time_count - 1];
}

int main(int argc, char **argv) {
    if (curl_global_init(CURL_GLOBAL_ALL)) {
        fail("libcurl cannot start");
    }
    struct contender contender = {.orders = read_orders(argc, argv), .loop = loop_create()};
    contender.header_lines = line(line(NULL, "Accept: */*"), "User-Agent: bench");
    if (contender.orders.upload_path || contender.orders.upload_stream) {
        // The client does not wait for 100 Continue either.
        contender.header_lines = line(line(contender.header_lines, "Content-Type:"), "Expect:");
    } else if (contender.orders.post_bytes > 0) {
        contender.header_lines = line(contender.header_lines, "Content-Type:");
        if (!(contender.post_body = malloc(contender.orders.post_bytes))) {
            fail("out of memory");
        }
        memset(contender.post_body, 'x', contender.orders.post_bytes);
    }
    make_pin(&contender);
    long most = contender.orders.requests > contender.orders.warm_up ? contender.orders.requests : contender.orders.warm_up;
    if (!(contender.times = malloc(most * sizeof *contender.times))) {
        fail("out of memory");
    }
    long in_flight = contender.orders.in_flight;
    struct transfer *transfers = make_transfers(&contender, in_flight);

    CURL **silent = start_silent(&contender);
    struct transfer *slow = start_slow(&contender);
    run(&contender, transfers, contender.orders.warm_up);
    long slow_at_start = contender.slow_responses;
    double started = seconds(CLOCK_MONOTONIC);
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (contender.orders.started > 0) {
        started -= seconds(CLOCK_REALTIME) - contender.orders.started;
        used = 0;
    }
    run(&contender, transfers, contender.orders.requests);
    long finished = contender.orders.requests + contender.slow_responses - slow_at_start;
    double elapsed = seconds(CLOCK_MONOTONIC) - started;
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    qsort(contender.times, contender.time_count, sizeof *contender.times, compare);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"requests\":%ld,\"seconds\":%.9f,\"processorSeconds\":%.6f,\"p50\":%.3f,\"p99\":%.3f,\"peakMemory\":%ld}\n", finished,
           elapsed, used, quantile(&contender, 0.5), quantile(&contender, 0.99), usage.ru_maxrss);

    contender.slow_ends = true;
    stop_silent(&contender, silent);
    free_transfers(&contender, slow, contender.orders.slow);
    free_transfers(&contender, transfers, in_flight);
    free(contender.post_body);
    free(contender.times);
    loop_destroy(contender.loop);
    curl_slist_free_all(contender.header_lines);
    curl_slist_free_all(contender.connect_to);
    curl_slist_free_all(contender.resolve);
    curl_global_cleanup();
    return 0;
}
