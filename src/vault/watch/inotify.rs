//! Linux: inotify with a mask of changes only.
//!
//! Our own use of the calls, because the usual crate also asks for every opening of a file (each
//! reader of the vault then costs an event a file) and misses what is put into a folder before it
//! is watched. Here every new folder is listed after its watch is set.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::Told;
use crate::note::path::VaultPath;
use crate::vault::dir::Kind;
use crate::vault::locks::lock;
use crate::vault::protect::is_hidden_name;
use crate::vault::root::Root;

// Writing is told beside closing: a program may keep a note open for hours.
const MASK: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// The root's own end is told as well; for other folders their parent tells.
const ROOT_MASK: WatchFlags = MASK.union(WatchFlags::DELETE_SELF).union(WatchFlags::MOVE_SELF);

/// How long the second end of a rename is waited for: the system tells both in one go, but may give the core
/// to another program between them. What was moved out of sight has no second end and costs this once.
const OTHER_END: Duration = Duration::from_millis(3);

/// One inotify instance and the folders it watches.
pub(in crate::vault) struct Events {
    fd: OwnedFd,
    folders: Mutex<Folders>,
    limited: Mutex<Option<String>>,
    /// Held while events are read and while they are taken in, so that they are taken in order
    /// and whoever comes second finds them taken.
    pub(super) turn: Mutex<()>,
}

#[derive(Default)]
struct Folders {
    by_watch: HashMap<i32, VaultPath>,
    by_path: HashMap<VaultPath, i32>,
}

impl Folders {
    fn insert(&mut self, watch: i32, path: &VaultPath) {
        if self.by_watch.get(&watch) == Some(path) {
            return;
        }
        // A folder that was moved keeps its watch: the old name goes.
        if let Some(old) = self.by_watch.insert(watch, path.clone())
            && self.by_path.get(&old) == Some(&watch)
        {
            self.by_path.remove(&old);
        }
        self.by_path.insert(path.clone(), watch);
    }

    fn remove_watch(&mut self, watch: i32) {
        if let Some(path) = self.by_watch.remove(&watch)
            && self.by_path.get(&path) == Some(&watch)
        {
            self.by_path.remove(&path);
        }
    }

    /// Takes out what is watched at `folder` and below it, and what was when it was another.
    fn take_tree(&mut self, folder: &VaultPath) -> Vec<i32> {
        let tree = self.by_watch.extract_if(|_, path| path.is_within(folder));
        let watches = tree.map(|(watch, _)| watch).collect();
        self.by_path.retain(|path, _| !path.is_within(folder));
        watches
    }
}

/// What was moved away, while nobody knows yet where to.
struct Leaving {
    /// That of the other end.
    cookie: u32,
    path: VaultPath,
    /// Of a folder, and of those below it: taken out before anything else can come to its name.
    watches: Option<Vec<i32>>,
}

impl Events {
    /// Watches nothing yet: a walk has each folder watched before it lists it.
    ///
    /// # Errors
    /// Why there are no events, to be shown to the user.
    pub fn start(_root: &Root) -> Result<Self, String> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|error| format!("the system gave no watcher: {error}"))?;
        let (folders, limited, turn) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { fd, folders, limited, turn })
    }

    /// Watches nothing again, for another root at the same place.
    pub fn forget(&self, _root: &Root) {
        let watches = std::mem::take(&mut *lock(&self.folders)).by_watch;
        for watch in watches.into_keys() {
            let _ = inotify::remove_watch(&self.fd, watch);
        }
    }

    /// How many folders are watched.
    pub fn folders(&self) -> usize {
        lock(&self.folders).by_watch.len()
    }

    /// Why not every folder is watched, if so.
    pub fn limited(&self) -> Option<String> {
        lock(&self.limited).clone()
    }

    /// Watches one folder. Again costs a call: it may have been moved since, and its watch with it.
    pub fn watch(&self, root: &Root, folder: &VaultPath) {
        let mut place = root.root().to_owned();
        if !folder.is_root() {
            place.push(folder.as_str());
        }
        let mask = if folder.is_root() { ROOT_MASK } else { MASK };
        match inotify::add_watch(&self.fd, place, mask) {
            Ok(watch) => lock(&self.folders).insert(watch, folder),
            Err(Errno::NOSPC) => {
                let reason = "the system's limit of watched folders is reached; raise \
                              fs.inotify.max_user_watches";
                *lock(&self.limited) = Some(reason.to_owned());
            }
            // It went or became something else: its own events tell.
            Err(_) => {}
        }
    }

    /// Watches a new folder and all below it, by listing after watching.
    fn watch_tree(&self, root: &Root, folder: &VaultPath) {
        self.watch(root, folder);
        let listed = root.folder().open_folder_at(folder).and_then(|folder| folder.list());
        for one in listed.unwrap_or_default() {
            let name = one.name.to_str().filter(|name| !is_hidden_name(name));
            if let Some(path) = name.and_then(|name| folder.join(name))
                && one.meta.kind == Kind::Folder
            {
                self.watch_tree(root, &path);
            }
        }
    }

    /// Whether nothing has been told since the last call.
    pub fn has_none(&self) -> bool {
        rustix::io::ioctl_fionread(&self.fd).is_ok_and(|bytes| bytes == 0)
    }

    /// Whether something is told within `limit`, which is waited for.
    fn tells_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).ok();
        let told = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], limit.as_ref());
        told.is_ok_and(|told| told > 0)
    }

    /// What has been told since the last call. New folders are watched on the way.
    pub fn drain(&self, root: &Root) -> Vec<Told> {
        let mut told = Vec::new();
        let mut leaving: Option<Leaving> = None;
        let mut awaited = None;
        let mut buffer = vec![MaybeUninit::<u8>::uninit(); 32 << 10];
        let mut reader = inotify::Reader::new(self.fd.as_fd(), &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                // Whoever reads can come between the two ends of a rename.
                Err(_) => match leaving.as_ref().map(|leaving| leaving.cookie) {
                    Some(cookie) if awaited != Some(cookie) && self.tells_within(OTHER_END) => {
                        awaited = Some(cookie);
                        continue;
                    }
                    _ => break,
                },
            };
            let (flags, watch, cookie) = (event.events(), event.wd(), event.cookie());
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                told.push(Told::Lost);
                continue;
            }
            if flags.contains(ReadFlags::IGNORED) {
                lock(&self.folders).remove_watch(watch);
                continue;
            }
            let Some(folder) = lock(&self.folders).by_watch.get(&watch).cloned() else { continue };
            if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT)
            {
                told.push(Told::Lost);
                continue;
            }
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            let Some(name) = name else { continue };
            let hidden = is_hidden_name(&name);
            let Some(path) = folder.join(&name) else { continue };
            let is_folder = flags.contains(ReadFlags::ISDIR);
            if flags.contains(ReadFlags::MOVED_FROM) {
                // A rename within the vault gives both ends next to each other.
                if let Some(leaving) = leaving.take() {
                    told.push(self.left(root, leaving));
                }
                if !hidden {
                    let watches = is_folder.then(|| lock(&self.folders).take_tree(&path));
                    leaving = Some(Leaving { cookie, path, watches });
                }
                continue;
            }
            if flags.contains(ReadFlags::MOVED_TO)
                && let Some(leaving) = leaving.take_if(|leaving| leaving.cookie == cookie)
            {
                if hidden {
                    told.push(self.left(root, leaving));
                    continue;
                }
                if is_folder {
                    self.watch_tree(root, &path);
                    // Where two changed places, what has the old name now had it before this event.
                    self.watch_tree(root, &leaving.path);
                }
                told.push(Told::Renamed(leaving.path, path));
                continue;
            }
            if hidden {
                continue;
            }
            match is_folder && flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                true => {
                    self.watch_tree(root, &path);
                    told.push(Told::NewFolder(path));
                }
                false if told.last() != Some(&Told::Changed(path.clone())) => {
                    told.push(Told::Changed(path));
                }
                false => {}
            }
        }
        if let Some(leaving) = leaving {
            told.push(self.left(root, leaving));
        }
        if told.contains(&Told::Lost) {
            // A rescan sees all, and watches what came meanwhile.
            told = vec![Told::Lost];
        }
        told
    }

    /// Something was moved out of the vault or out of sight. Its name may be that of another by now,
    /// which is watched, also where it came before this went: two can change places.
    fn left(&self, root: &Root, leaving: Leaving) -> Told {
        let Leaving { path, watches, .. } = leaving;
        let Some(watches) = watches else { return Told::Changed(path) };
        self.watch_tree(root, &path);
        for watch in watches {
            // What has come back has the watch it had.
            let is_back = lock(&self.folders).by_watch.contains_key(&watch);
            if !is_back {
                let _ = inotify::remove_watch(&self.fd, watch);
            }
        }
        Told::NewFolder(path)
    }
}

/// Wakes and ends the waiting thread.
pub(in crate::vault) struct Stop {
    wake: Option<OwnedFd>,
    stopped: AtomicBool,
}

impl Stop {
    pub fn new() -> Self {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { wake, stopped: AtomicBool::new(false) }
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub fn wake(&self) {
        if let Some(wake) = &self.wake {
            let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
        }
    }

    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// Waits for events, a wake-up or the end of `limit`; without a limit as long as it takes.
pub(in crate::vault) fn wait(events: Option<&Events>, stop: &Stop, limit: Option<Duration>) {
    let fds = stop.wake.as_ref().into_iter().chain(events.map(|events| &events.fd));
    let mut polled: Vec<PollFd<'_>> =
        fds.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let _ = poll(&mut polled, limit.as_ref());
    if let Some(wake) = &stop.wake {
        let _ = rustix::io::read(wake, &mut [0_u8; 8]);
    }
}
