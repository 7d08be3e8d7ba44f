<?php
// A theme of one page: the requested posts with everything attached to them, and a sidebar with each kind of list.
get_header();
while ( have_posts() ) {
    the_post();
    the_title( '<h2>', '</h2>' );
    the_content();
    the_category( ', ' );
    the_tags();
    the_author_posts_link();
    echo get_edit_post_link(), get_comments_number(), get_post_meta( get_the_ID(), 'price', true );
    if ( is_singular() ) {
        comments_template();
        previous_post_link();
        next_post_link();
    }
}
the_posts_pagination();
wp_list_categories( array( 'hierarchical' => true, 'show_count' => true ) );
wp_tag_cloud();
wp_get_archives( array( 'type' => 'monthly', 'show_post_count' => true ) );
wp_get_archives( array( 'type' => 'weekly' ) );
wp_get_archives( array( 'type' => 'alpha' ) );
wp_list_pages();
wp_list_authors( array( 'optioncount' => true, 'hide_empty' => false ) );
foreach ( get_comments( array( 'number' => 5, 'status' => 'approve' ) ) as $comment ) {
    echo esc_html( $comment->comment_content );
}
get_footer();
